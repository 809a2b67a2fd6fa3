#!/usr/bin/python3
# SPDX-License-Identifier: MIT
# header_page.py HEADER: the man page kreplay.h(3), made from the comments in the header.
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
text = text[text.index("* Status") :]


def roff(line):
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line[:1] in (".", "'") else line


def comment(raw):
    """The text of a comment as paragraphs of roff."""
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in raw.strip().strip("/").strip("*").splitlines()]
    out = []
    for line in (line.strip() for line in lines):
        if line.startswith("@param"):
            name, rest = (line.split(None, 2) + ["", ""])[1:3]
            out += [".TP", "\\fI" + roff(name) + "\\fR", roff(rest)]
        elif line.startswith("@return"):
            out += [".TP", "Returns", roff(line[len("@return") :].strip())]
        elif not line:
            if out and out[-1] != ".PP":
                out.append(".PP")
        else:
            out.append(roff(line))
    while out and out[-1] in ("", ".PP"):
        out.pop()
    return out


print('.TH KREPLAY.H 3 "" kreplay "C Library"')
print(".SH NAME\nkreplay.h \\- repeat GPU kernel dispatches in place: what a tool uses")
print(".SH SYNOPSIS\n.B #include <kreplay/kreplay.h>")
print(".SH DESCRIPTION")
# long declarations and enumerations of words are not to be stretched
print(".ad l")
print("A tool is a shared library that exports\n.B kreplay_configure\nand is loaded by\n.BR kreplay\\-run (1).")
print("Nothing needs to be linked with. The comments of the header are the reference; this page is made from them.")
print("The tags in brackets say on which thread and in which phase of a window something is called or may be called.")
sections = {"FUNCTIONS": [], "TYPES": []}
# a comment with its declaration right behind it
pattern = re.compile(
    r"/\*\*((?:(?!\*/).)*)\*/\s*\n((?:KREPLAY_(?:API|TOOL_EXPORT)|typedef|struct)\b[^;{]*[;{])", re.S
)
for match in pattern.finditer(text):
    raw, declaration = match.group(1), " ".join(match.group(2).split())
    function = declaration.startswith("KREPLAY_")
    declaration = re.sub(r"^KREPLAY_(API|TOOL_EXPORT) ", "", declaration).rstrip("{ ").rstrip(";")
    section = sections["FUNCTIONS" if function else "TYPES"]
    section += [".SS " + (re.search(r"(kreplay_\w+)\(", declaration) or re.search(r"(kreplay_\w+)(?=\)?\(|$)", declaration)).group(1)]
    section += ["\\fB" + roff(declaration) + ";\\fR", ".PP"] + comment(raw)
for name, lines in sections.items():
    print(".SH " + name)
    print("\n".join(lines))
print(".SH SEE ALSO\n.BR kreplay (1),\n.BR kreplay\\-run (1)")
