#include "read/keyspace_iterator.h"

#include <string>
#include <utility>

namespace mergedb::read {
namespace {

class NamedIterator final : public Iterator {
 public:
  NamedIterator(std::string prefix, std::unique_ptr<Iterator> tree)
      : prefix_bytes_(prefix.size()), target_(std::move(prefix)), tree_(std::move(tree)) {}

  bool Valid() const override { return tree_->Valid(); }
  void SeekToFirst() override { tree_->SeekToFirst(); }
  void SeekToLast() override { tree_->SeekToLast(); }
  void Seek(std::string_view target) override { tree_->Seek(InTree(target)); }
  void SeekForPrev(std::string_view target) override { tree_->SeekForPrev(InTree(target)); }
  void Next() override { tree_->Next(); }
  void Prev() override { tree_->Prev(); }
  std::string_view key() const override { return tree_->key().substr(prefix_bytes_); }
  std::string_view value() const override { return tree_->value(); }
  const Status& status() const override { return tree_->status(); }
  std::optional<std::string_view> failed_key() const override {
    const auto key = tree_->failed_key();
    return key ? std::optional(key->substr(prefix_bytes_)) : std::nullopt;
  }

 private:
  const std::string& InTree(std::string_view target) {
    target_.resize(prefix_bytes_);
    return target_.append(target);
  }

  const size_t prefix_bytes_;
  std::string target_;  // begins with the prefix
  const std::unique_ptr<Iterator> tree_;
};

// The internal iterator of the default keyspace: what the tree shows, without the region of the named keyspaces.
class DefaultKeyspaceIterator final : public kv::Iterator {
 public:
  DefaultKeyspaceIterator(const kv::KeyMap& map, InternalAccessIterator& cursor)
      : map_(map), cursor_(cursor), tree_(cursor.internal()) {}

  void SeekToFirst() override {
    valid_ = false;  // in case the move throws
    tree_.SeekToFirst();
    PassForward();
  }
  void SeekToLast() override {
    valid_ = false;  // in case the move throws
    tree_.SeekToLast();
    PassBackward();
  }
  void Seek(std::string_view key, kv::Tag tag) override {
    valid_ = false;  // in case the move throws
    tree_.Seek(map_.ToTree(kv::kDefaultKeyspace, key, &target_), tag);
    PassForward();
  }
  void Next() override {
    valid_ = false;  // in case the move throws
    tree_.Next();
    PassForward();
  }
  void Prev() override {
    valid_ = false;  // in case the move throws
    tree_.Prev();
    PassBackward();
  }

  // The tree's iterator has moved. If it is in the region of the named keyspaces, PassForward and
  // PassBackward move it out.
  void PassForward() {
    if (IsInside()) [[unlikely]]
      tree_.Seek(map_.named_upper(), kv::kTagMax);
    Arrive();
  }
  void PassBackward() {
    if (IsInside()) [[unlikely]] {
      tree_.Seek(map_.named_lower(), kv::kTagMax);
      if (tree_.Valid()) {
        tree_.Prev();
      } else if (cursor_.unreadable_key()) {
        cursor_.PrevFromUnreadable();
      }
    }
    Arrive();
  }

 private:
  // WHY a failed key counts: a key of a named keyspace that cannot be read is no error of the default keyspace.
  bool IsInside() const {
    if (tree_.Valid()) [[likely]]
      return map_.IsNamed(tree_.entry().key);
    const auto unreadable = cursor_.unreadable_key();
    return unreadable && map_.IsNamed(*unreadable);
  }
  void Arrive() {
    valid_ = tree_.Valid();
    if (!valid_ || !status_.ok()) [[unlikely]]
      status_ = tree_.status();
    if (!valid_) return;
    entry_ = tree_.entry();
    entry_.key = map_.KeyOf(entry_.key);
  }

  const kv::KeyMap& map_;
  InternalAccessIterator& cursor_;
  kv::Iterator& tree_;  // the cursor's internal iterator
  std::string target_;
};

class DefaultIterator final : public InternalAccessIterator {
 public:
  DefaultIterator(const kv::KeyMap& map, std::unique_ptr<InternalAccessIterator> tree)
      : InternalAccessIterator(tree->is_closed()), map_(map), tree_(std::move(tree)), default_iterator_(map, *tree_) {}

  bool Valid() const override { return tree_->Valid(); }
  void SeekToFirst() override {
    tree_->SeekToFirst();
    default_iterator_.PassForward();
  }
  void SeekToLast() override {
    tree_->SeekToLast();
    default_iterator_.PassBackward();
  }
  void Seek(std::string_view target) override {
    tree_->Seek(map_.ToTree(kv::kDefaultKeyspace, target, &target_));
    default_iterator_.PassForward();
  }
  void SeekForPrev(std::string_view target) override {
    tree_->SeekForPrev(map_.ToTree(kv::kDefaultKeyspace, target, &target_));
    default_iterator_.PassBackward();
  }
  void Next() override {
    tree_->Next();
    default_iterator_.PassForward();
  }
  void Prev() override {
    tree_->Prev();
    default_iterator_.PassBackward();
  }
  kv::Iterator& internal() override { return default_iterator_; }
  std::string_view key() const override { return default_iterator_.entry().key; }
  std::string_view value() const override { return tree_->value(); }
  const Status& status() const override { return tree_->status(); }
  std::optional<std::string_view> failed_key() const override {
    const auto key = tree_->failed_key();
    return key ? std::optional(map_.KeyOf(*key)) : std::nullopt;
  }

 private:
  const kv::KeyMap& map_;
  std::string target_;
  const std::unique_ptr<InternalAccessIterator> tree_;
  DefaultKeyspaceIterator default_iterator_;
};

}  // namespace

IteratorOptions ToTreeOptions(const kv::KeyMap& map, const IteratorOptions& options) {
  format::Bounds bounds = BoundsOf(options);
  IteratorOptions tree = options;
  tree.prefix.clear();
  tree.keyspace = {};
  // The range has one or two parts; the iterator itself leaves out the region between them.
  auto ranges =
      map.ToTreeRanges(options.keyspace.id(), {.lower = std::move(bounds.lower), .upper = std::move(bounds.upper)});
  tree.lower = std::move(ranges.front().lower);
  tree.upper = std::move(ranges.back().upper);
  return tree;
}

std::unique_ptr<Iterator> NewKeyspaceIterator(const kv::KeyMap& map, const IteratorOptions& options,
                                              std::unique_ptr<InternalAccessIterator> tree) {
  if (options.keyspace.is_default()) return NewDefaultIterator(map, options, std::move(tree));
  return std::make_unique<NamedIterator>(map.Prefix(options.keyspace.id()), std::move(tree));
}

std::unique_ptr<InternalAccessIterator> NewDefaultIterator(const kv::KeyMap& map, const IteratorOptions& options,
                                                           std::unique_ptr<InternalAccessIterator> tree) {
  const format::Bounds bounds = BoundsOf(options);
  if (bounds.upper && *bounds.upper < map.reserved_prefix()) return tree;  // below all keys that the map changes
  return std::make_unique<DefaultIterator>(map, std::move(tree));
}

}  // namespace mergedb::read
