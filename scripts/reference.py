"""The reference pages of the site, made from the sources. scripts/site.py calls pages().

C++   a page for each header of include/mergedb: its opening comment as text, then each declaration with its comment
C     include/mergedb/c.h, a chapter for each of its sections
Python, Java     each public class: its methods with their documentation
"""

import ast
import html
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
JAVA = "java/mergedb-java/src/main/java/dev/mergedb"


def prose(lines):
    """Comment lines as Markdown: what is indented by four spaces or more is code."""
    text, code, language = [], [], "cpp"
    for line in [*lines, ""]:
        if line.startswith("    ") or (code and not line.strip()):
            code.append(line[4:])
            continue
        if code:
            text += ["", f"```{language}", *"\n".join(code).rstrip().split("\n"), "```", ""]
            code = []
        if re.match(r"[A-Z]{4,}[A-Z ]*[:.]", line):  # THREADS: and other labels begin a paragraph
            text.append("")
        text.append(escaped(line))
    return "\n".join(text).strip()


def escaped(line):
    """Text for Markdown. Code between backticks stays as it is."""
    parts = line.split("`")
    parts[::2] = [html.escape(part, quote=False).replace("*", "\\*").replace("_", "\\_") for part in parts[::2]]
    return "`".join(parts)


def names_of(code):
    """The names that lines of a header declare at their left margin."""
    names = []
    for line in code:
        found = re.match(r"using (\w+) =", line) or re.match(r"(?:template.*> *)?(?:class|struct|enum class)\s+(?:\[\[\w+\]\]\s+)?(?:MERGEDB_EXPORT\s+)?(\w+)", line) or re.match(
            r"(?:#define |[A-Za-z].*?\b)(\w+)\(", line) or re.match(r"[A-Za-z].*?\b(k[A-Z]\w+) =", line)
        if found and found.group(1) not in names:
            names.append(found.group(1))
    return names


def cpp_page(path):
    """Each group of lines between blank lines, outside of braces, is a chapter."""
    lines = path.read_text(encoding="utf-8").splitlines()
    at = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    parts = [f"# {path.name}", prose([line[2:].removeprefix(" ") for line in lines[:at]]), f"`#include <mergedb/{path.name}>`"]
    group, depth = [], 0
    for line in [*lines[at:], ""]:
        if re.match(r"#(?!define)|namespace |\}  // namespace", line):
            continue
        if line or depth > 0:
            group.append(line)
            code = re.sub(r"//.*|\"(?:\\.|[^\"])*\"|'.'", "", line)
            depth += code.count("{") - code.count("}")
            continue
        comments = 0
        while comments < len(group) and group[comments].startswith("//"):
            comments += 1
        comment, code = [each[2:].removeprefix(" ").lstrip("- ") for each in group[:comments]], group[comments:]
        names = [name for name in names_of(code) if not name.startswith("MERGEDB_") and not name.endswith("_INNER")]
        if not names or all(re.fullmatch(r"(class|struct) \w+;", line) for line in code):
            names = []
        if names:
            parts.append("## " + ", ".join(names))
        if comment:
            parts.append(prose(comment))
        if code and names:
            parts.append("```cpp\n" + "\n".join(code).replace("MERGEDB_EXPORT ", "") + "\n```")
        group = []
    return "\n\n".join(parts) + "\n"


def c_page():
    text = (ROOT / "include/mergedb/c.h").read_text(encoding="utf-8")
    opening, rest = text[3:].split("*/", 1)
    lines = [line.removeprefix(" *").removeprefix(" ") for line in opening.splitlines()]
    parts = ["# The C interface: c.h", prose(lines)]
    sections = re.split(r"^/\* -{4} (.+?) -{4,}(.*)$", rest, flags=re.M)
    for title, tail, body in zip(sections[1::3], sections[2::3], sections[3::3]):
        lead = ""
        if "*/" not in tail:
            comment, body = body.split("*/", 1)
            lead = prose([line.removeprefix(" *").removeprefix(" ") for line in comment.splitlines()])
        body = re.sub(r"\n#ifdef __cplusplus.*", "", body, flags=re.S).replace("MERGEDB_C_EXPORT ", "")
        title = title.split(": include")[0].replace(": every move returns its result", "")
        parts.append(f"## {title[0].upper()}{title[1:]}\n\n{lead}\n\n```c\n{body.strip()}\n```")
    return "\n\n".join(parts) + "\n"


def signature(node):
    arguments = ast.unparse(node.args)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"def {node.name}({arguments}){returns}"


def documented(node, native):
    """The public methods of a class, and those of its native base."""
    own = [each for each in node.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")]
    bases = {ast.unparse(base).split(".")[-1] for base in node.bases}
    inherited = [each for name in bases for each in native.get(name, []) if each.name not in {one.name for one in own}]
    return own, inherited


def python_page():
    folder = ROOT / "python/mergedb_kv"
    native, classes, functions = {}, {}, {}
    for node in ast.parse((folder / "_native.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            native[node.name] = [each for each in node.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")]
    for base, derived in (("Store", "_Store"), ("Reader", "_Reader")):
        native[derived] = native[base] + (native["Reader"] if base == "Store" else [])
    for path in sorted(folder.glob("_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] = node
            elif isinstance(node, ast.FunctionDef):
                functions[node.name] = node
    # The classes of the package share methods with these private ones.
    for derived, private in (("_Store", ("_Writable", "_Readable")), ("_Reader", ("_Readable",))):
        native[derived] = native[derived] + [each for name in private for each in documented(classes[name], {})[0]]
    exported = ast.parse((folder / "__init__.py").read_text(encoding="utf-8")).body
    names = next(ast.literal_eval(node.value) for node in exported
                 if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    parts = ["# The Python package: mergedb_kv"]

    def member(node):
        text = ast.get_docstring(node)
        return f"```python\n{signature(node)}\n```" + (f"\n\n{text}" if text else "")

    for name in names:
        if name in functions:
            parts.append(f"## {name}()\n\n{member(functions[name])}")
        elif name in classes:
            own, inherited = documented(classes[name], native)
            seen, methods = set(), []
            for each in [*own, *inherited]:
                if each.name not in seen:
                    methods.append(member(each))
                seen.add(each.name)
            bases = ", ".join(ast.unparse(base) for base in classes[name].bases if not ast.unparse(base).lstrip("_").startswith(("native", "Store", "Reader")))
            constants = [f"{ast.unparse(each.targets[0])} = {ast.unparse(each.value)}" for each in classes[name].body if isinstance(each, ast.Assign)]
            listing = "```python\n" + "\n".join(constants) + "\n```" if constants else ""
            parts += [f"## {name}" + (f"\n\nBase class: {bases}" if bases else ""), ast.get_docstring(classes[name]) or "", listing, *methods]
    merge = ast.parse((folder / "merge.py").read_text(encoding="utf-8"))
    parts += ["## merge", ast.get_docstring(merge) or "",
              *(member(node) for node in merge.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"))]
    return "\n\n".join(part for part in parts if part) + "\n"


def javadoc(text):
    text = "\n".join(line.strip().removeprefix("*").strip() for line in text.strip().splitlines())
    text = re.sub(r"<pre>(?:\{@code)?(.*?)\}?</pre>", lambda m: "\n```java\n" + m.group(1).strip() + "\n```\n", text, flags=re.S)
    text = re.sub(r"\{@(?:code|link|linkplain|literal)\s+([^}]*)\}", r"`\1`", text)
    text = re.sub(r"^@param (\S+) (.*)", r"- `\1`: \2", text, flags=re.M)
    text = re.sub(r"^@return (.*)", r"- returns \1", text, flags=re.M)
    text = re.sub(r"^@throws (\S+) (.*)", r"- throws `\1` \2", text, flags=re.M)
    text = re.sub(r"</?p>", "\n", text)
    text = re.sub(r"</?ul>", "\n", text).replace("<li>", "\n- ")
    text = re.sub(r"</li>|<[^>`]+>", "", text)
    return re.sub(r"(?<![\n-])\n(- )", r"\n\n\1", text, count=1).strip()


def java_page():
    parts = ["# The Java package: dev.mergedb"]
    member = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\s*((?:@\w+(?:\([^)]*\))?\s+)*public\s[^{;=]*)", re.S)
    for path in sorted((ROOT / JAVA).glob("*.java")):
        text = path.read_text(encoding="utf-8")
        public = re.search(rf"^public .*\b{path.stem}\b(?: extends (\w+))?", text, re.M)
        if not public:
            continue
        base = path.with_name(f"{public.group(1)}.java")  # of a class that is not public: its methods are those of this class
        if base.exists():
            text += base.read_text(encoding="utf-8")
        parts.append(f"## {path.stem}")
        for comment, declaration in member.findall(text):
            shown = " ".join(declaration.split())
            is_type = re.search(rf"\b(class|interface|record|enum) {path.stem}\b", shown)
            parts.append(javadoc(comment) if is_type else f"```java\n{shown}\n```\n\n{javadoc(comment)}")
    return "\n\n".join(parts) + "\n"


def pages():
    """Returns the Markdown of each page by its path on the site."""
    made = {f"reference/cpp/{path.stem}.md": cpp_page(path) for path in sorted((ROOT / "include/mergedb").glob("*.h"))
            if path.name not in ("c.h", "export.h")}
    made["reference/c.md"] = c_page()
    made["reference/python.md"] = python_page()
    made["reference/java.md"] = java_page()
    return made
