"""Imports go one way: a module imports from the layers below its own, and from nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pywgsl"

#: From the bottom. A package stands for all modules in it, which may import each other;
#: others in one layer may not.
LAYERS = [
    ("pywgsl.source", "pywgsl.numerics", "pywgsl.codes"),
    ("pywgsl.types", "pywgsl.errors"),
    ("pywgsl.signature", "pywgsl.ir"),
    ("pywgsl.table",),
    ("pywgsl.collectives",),
    ("pywgsl.builtins", "pywgsl.syntax", "pywgsl.lang"),
    ("pywgsl.analysis", "pywgsl.structs"),
    ("pywgsl.codegen", "pywgsl.frontend"),
    ("pywgsl.reflection", "pywgsl.runtime"),
    ("pywgsl.from_source",),
    ("pywgsl.kernel", "pywgsl.pickling"),
    ("pywgsl",),
    ("pywgsl.ops", "pywgsl.commands"),
    ("pywgsl.__main__",),
]

#: What is imported only when it is called: kernels are pickled by what stands beside them, and
#: one made of text sees every public name of the package.
LATER = {
    ("pywgsl.kernel", "pywgsl.pickling"),
    ("pywgsl.pickling", "pywgsl.kernel"),
    ("pywgsl.kernel", "pywgsl"),
}

MODULES = {
    ".".join(("pywgsl", *path.relative_to(PACKAGE).with_suffix("").parts)): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def layer_of(module: str) -> tuple[int, str]:
    """Return the position of a module's layer, and which of its members it belongs to."""
    name = module.removesuffix(".__init__")
    while name:
        for position, members in enumerate(LAYERS):
            if name in members and (name != "pywgsl" or module in ("pywgsl", "pywgsl.__init__")):
                return position, name
        name = name.rpartition(".")[0]
    pytest.fail(f"{module} is in no layer")


def imports(path: Path) -> Iterator[str]:
    """Yield what a file imports of the package, at the top or later, but for types alone."""
    pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pywgsl"):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                is_module = full in MODULES or f"{full}.__init__" in MODULES
                yield full if is_module else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("pywgsl"))
        pending.extend(ast.iter_child_nodes(node))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_from_below(module: str) -> None:
    position, member = layer_of(module)
    for name in imports(MODULES[module]):
        below, other = layer_of(name)
        if member == other or (member, other) in LATER:
            continue
        assert below < position, f"{module} imports {name}, which is not below it"
