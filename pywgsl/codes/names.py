"""E02: names and scopes."""

NAMES = r"""
E0201: a name that is not defined
A kernel sees its parameters, the names it assigns, and the module and functions around it, as any
Python function does.
wrong:
    y[i] = sqrt(x[i])
right:
    y[i] = pw.sqrt(x[i])

E0202: a local read before anything is assigned to it
A name that is assigned anywhere in a function is a local of the whole function, as in Python. It
hides a name of the module or a builtin from the first line on.
wrong:
    y[i] = abs(x[i])
    abs = 1.0
right:
    y[i] = abs(x[i])
    size = 1.0

E0203: a local that may be unassigned
On some path through the function nothing has been assigned when the name is read; Python would
raise an `UnboundLocalError` there. A loop may run no times.
wrong:
    for k in range(n):
        last = x[k]
    y[i] = last
right:
    last = 0.0
    for k in range(n):
        last = x[k]
    y[i] = last

E0204: an attribute that does not exist
Vectors have the components `x`, `y`, `z`, `w` (or `r`, `g`, `b`, `a`) and up to four of them
together; arrays have `shape`, `size` and `ndim`; structs have their fields.
wrong:
    n = x.length
right:
    n = len(x)
"""
