#include "engine_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace mergedb::tool {

namespace {

// A function that only the engine itself defines. If `is_prefix`, a symbol only begins with the name.
struct KnownSymbol {
  std::string_view name;
  bool is_prefix;
  Interface interface;
};
constexpr KnownSymbol kSymbols[] = {
    {"leveldb_open", false, Interface::kLevelDb},
    {"_ZN7leveldb2DB4Open", true, Interface::kLevelDb},  // leveldb::DB::Open
    {"mdb_env_open", false, Interface::kLmdb},
    {"lsmdb_env_open", false, Interface::kLsmdb},
};
// RocksDB has other texts of LevelDB, but not this one.
constexpr std::string_view kLevelDbText = "leveldb.InternalKeyComparator";
constexpr std::string_view kLmdbText = "LMDB 0.9.";  // mdb_version(): "LMDB 0.9.24: (July 24, 2019)"
constexpr std::string_view kLmdbTextSince1 = "LMDB 1.";

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not block
    if (descriptor < 0) return;
    struct stat about {};
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
      void* const at = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), static_cast<size_t>(about.st_size)};
    }
    close(descriptor);
  }
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

// An ELF file as bytes. Every offset and length comes from the file, so each read checks them.
class Elf {
 public:
  explicit Elf(std::string_view bytes) : bytes_(bytes) { is_valid_ = ReadHeader(); }

  bool is_valid() const { return is_valid_; }

  bool HasSegment(uint32_t type) const {
    Elf64_Phdr segment;
    for (size_t i = 0; ReadSegment(i, &segment); ++i) {
      if (segment.p_type == type) return true;
    }
    return false;
  }

  // The description of mergedb's note.
  std::optional<std::string> FindNote() const {
    Elf64_Phdr segment;
    for (size_t i = 0; ReadSegment(i, &segment); ++i) {
      if (segment.p_type != PT_NOTE) continue;
      const std::string_view notes = Part(segment.p_offset, segment.p_filesz);
      const size_t alignment = segment.p_align == 8 ? 8 : 4;
      for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
        Elf64_Nhdr note;
        std::memcpy(&note, notes.data() + at, sizeof(note));
        const size_t owner = at + sizeof(note);
        const size_t description = RoundUp(owner + note.n_namesz, alignment);
        const size_t end = RoundUp(description + note.n_descsz, alignment);
        if (description > notes.size() || note.n_descsz > notes.size() - description) break;
        if (notes.substr(owner, note.n_namesz) == std::string_view("mergedb", 8)) {
          const std::string_view text = notes.substr(description, note.n_descsz);
          return std::string(text.substr(0, text.find('\0')));
        }
        at = end;
      }
    }
    return std::nullopt;
  }

  std::string Soname() const {
    Elf64_Shdr section, names;
    for (size_t i = 0; ReadSection(i, &section); ++i) {
      if (section.sh_type != SHT_DYNAMIC || !ReadSection(section.sh_link, &names)) continue;
      Elf64_Dyn entry;
      for (uint64_t at = 0; at < section.sh_size && ReadAt(section.sh_offset + at, &entry); at += sizeof(entry)) {
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_SONAME) return Text(names, entry.d_un.d_val);
      }
    }
    return "";
  }

  template <typename Visit>
  void VisitDefinedSymbols(Visit visit) const {
    Elf64_Shdr section, names;
    for (size_t i = 0; ReadSection(i, &section); ++i) {
      if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
      if (!ReadSection(section.sh_link, &names)) continue;
      const std::string_view symbols = Part(section.sh_offset, section.sh_size);
      const std::string_view texts = Part(names.sh_offset, names.sh_size);
      for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, symbols.data() + at, sizeof(symbol));
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= texts.size()) continue;
        const std::string_view text = texts.substr(symbol.st_name);
        visit(text.substr(0, text.find('\0')));
      }
    }
  }

 private:
  static size_t RoundUp(size_t value, size_t alignment) { return (value + alignment - 1) / alignment * alignment; }

  std::string Text(const Elf64_Shdr& names, uint64_t offset) const {
    const std::string_view texts = Part(names.sh_offset, names.sh_size);
    if (offset >= texts.size()) return "";
    return std::string(texts.substr(offset, texts.find('\0', offset) - offset));
  }
  // Empty if the file is too short.
  std::string_view Part(uint64_t offset, uint64_t length) const {
    if (offset > bytes_.size() || length > bytes_.size() - offset) return {};
    return bytes_.substr(offset, length);
  }
  template <typename T>
  bool ReadAt(uint64_t offset, T* value) const {
    const std::string_view part = Part(offset, sizeof(T));
    if (part.empty()) return false;
    std::memcpy(value, part.data(), sizeof(T));
    return true;
  }
  bool ReadHeader() {
    if (!ReadAt(0, &header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return false;
    constexpr unsigned char kOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    return header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == kOrder;
  }
  bool ReadSegment(size_t index, Elf64_Phdr* segment) const {
    return index < header_.e_phnum && ReadAt(header_.e_phoff + index * sizeof(*segment), segment);
  }
  bool ReadSection(size_t index, Elf64_Shdr* section) const {
    return index < header_.e_shnum && ReadAt(header_.e_shoff + index * sizeof(*section), section);
  }

  std::string_view bytes_;
  Elf64_Ehdr header_ = {};
  bool is_valid_ = false;
};

bool Contains(std::string_view bytes, std::string_view text) {
  return memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
}

}  // namespace

std::optional<EngineFile> ReadEngineFile(const std::string& path, const std::string& real_path) {
  const MappedFile file(real_path.empty() ? path : real_path);
  const Elf elf(file.bytes());
  if (!elf.is_valid()) return std::nullopt;
  EngineFile found;
  found.path = path;
  found.is_statically_linked = !elf.HasSegment(PT_INTERP) && !elf.HasSegment(PT_DYNAMIC);
  found.soname = elf.Soname();
  if (const auto version = elf.FindNote()) {
    found.is_mergedb = true;
    found.version = *version;
  }
  elf.VisitDefinedSymbols([&](std::string_view name) {
    for (const KnownSymbol& known : kSymbols) {
      if (known.is_prefix ? name.substr(0, known.name.size()) == known.name : name == known.name)
        found.has_interface[static_cast<int>(known.interface)] = true;
    }
  });
  if (found.HasEngine()) return found;
  // The symbols may be stripped: py-lmdb's wheel keeps none of LMDB's.
  found.has_interface[static_cast<int>(Interface::kLevelDb)] = Contains(file.bytes(), kLevelDbText);
  found.has_interface[static_cast<int>(Interface::kLmdb)] =
      Contains(file.bytes(), kLmdbText) || Contains(file.bytes(), kLmdbTextSince1);
  return found;
}

}  // namespace mergedb::tool
