"""E01: the Python that can be read."""

SYNTAX = r"""
E0101: the text of a function cannot be found
A kernel is compiled from its Python text. Python keeps that text for files, notebooks, doctests,
`python -c` and the interactive prompt, but not for what `exec` runs.
wrong:
    exec("@pw.kernel\ndef scale(x: Array[f32]): …")
right:
    scale = pw.kernel_from_source("@pw.kernel\ndef scale(x: Array[f32]): …")

E0102: not a function made by `def`
Only a function made by `def` can be a kernel or a helper: no lambda, class, builtin or bound
method. The decorators `staticmethod` and `classmethod` go above pywgsl's.
wrong:
    square = pw.function(lambda x: x * x)
right:
    @pw.function
    def square(x):
        return x * x

E0103: the text of a function has changed
The file has been edited since it was imported, and what it says now is not the function that
Python runs. Compiling it would give another kernel than the one that was called.
wrong:
    import kernels   # then edit kernels.py
    kernels.scale[n](x)
right:
    importlib.reload(kernels)
    kernels.scale[n](x)

E0104: a kind of parameter that kernels do not have
Each parameter becomes a binding or a field of the uniform struct, so their number is fixed: no
`*args` and no `**kwargs`. All can be given by position and by name: no `/`.
wrong:
    @pw.kernel
    def add(*arrays): …
right:
    @pw.kernel
    def add(a: Array[f32], b: Array[f32], total: Array[f32]): …

E0105: a method as a kernel
A GPU has no objects, so `self` cannot be a parameter. What the kernel needs of it is passed by
the method that launches it.
wrong:
    class Model:
        @pw.kernel
        def step(self, x: Array[f32]): …
right:
    @pw.kernel
    def step(x: Array[f32], rate: f32): …

    class Model:
        def step(self, x):
            step[len(x)](x, self.rate)

E0106: `async` or `await`
The invocations of a kernel run in parallel already and wait for each other only at barriers. A
launch returns at once; reading an array waits for it.
wrong:
    @pw.kernel
    async def scale(x: Array[f32]): …
right:
    @pw.kernel
    def scale(x: Array[f32]): …

E0107: `yield` in a kernel
A kernel or helper runs from its start to its end. Results are stored in arrays, or returned by a
helper (several as a tuple).
wrong:
    for k in range(n):
        yield x[k]
right:
    for k in range(n):
        result[k] = x[k]

E0108: an annotation that cannot be evaluated
An annotation in quotes, or any under `from __future__ import annotations`, is evaluated when the
kernel is made. It sees the module and the variables that the body uses, but no other locals of
the function around it.
wrong:
    from __future__ import annotations

    def make():
        Row = Array[f32]
        @pw.kernel
        def scale(x: Row): …
right:
    Row = Array[f32]

    def make():
        @pw.kernel
        def scale(x: Row): …

E0109: nested too deeply
Expressions and blocks are read recursively, as deep as Python's stack allows. Long sums and long
`elif` chains are no problem; hundreds of parentheses are.
wrong:
    y = f(f(f(…)))
right:
    for _ in range(300):
        y = f(y)

E0110: `with` in a kernel
A GPU has no resources to open and close.
wrong:
    @pw.kernel
    def scale(x: Array[f32]):
        with timer(): …
right:
    with timer():
        scale[n](x)

E0111: exceptions in a kernel
Nothing that a kernel does raises an exception on a GPU: a division by zero gives a number, a load
out of bounds gives a value. Test before, or state what must hold with `assert`, which NumPy and
the sanitizer check.
wrong:
    if n == 0:
        raise ValueError("empty")
right:
    assert n != 0, "empty"

E0112: `import` in a kernel
A kernel sees the names of its module. Import there.
wrong:
    @pw.kernel
    def wave(x: Array[f32]):
        import math
right:
    import math

    @pw.kernel
    def wave(x: Array[f32]): …

E0113: `global` or `nonlocal` in a kernel
Numbers of the module and of the functions around a kernel are constants while it runs. What it
computes, it stores in an array.
wrong:
    global total
    total += x[i]
right:
    pw.atomic_add(total, 0, x[i])   # total: Array[f32], a parameter

E0114: `del` in a kernel
Locals live in registers and end with the function; nothing has to be deleted.
wrong:
    y = x[i]
    del y
right:
    y = x[i]

E0115: a function or class inside a kernel
Helpers are functions of the module, decorated with `@pw.function`; structs are classes of the
module, decorated with `@pw.struct`. A helper takes what it needs as arguments.
wrong:
    @pw.kernel
    def k(x: Array[f32]):
        square = lambda v: v * v
right:
    @pw.function
    def square(v):
        return v * v

E0116: Python that kernels do not have
The language has assignments, `if`, `while`, `for`, `match`, `return`, `assert` and calls. A
construct that is newer than this version of pywgsl is refused.
wrong:
    type Row = Array[f32]
right:
    Row = Array[f32]   # at module level

E0120: a comprehension
There are no lists, so a comprehension has nothing to make. A loop says the same.
wrong:
    total = sum(x[k] * x[k] for k in range(n))
right:
    total = 0.0
    for k in range(n):
        total += x[k] * x[k]

E0121: a list, dict or set
Memory of a kernel has a size that is known when it is compiled: `pw.array[T, N](…)` is a value of
N elements, `pw.local_array(T, N)` is zeroed memory of one invocation, a `@pw.struct` class has
named fields. Several names are assigned by a tuple.
wrong:
    weights = [0.25, 0.5, 0.25]
right:
    weights = pw.array[f32, 3](0.25, 0.5, 0.25)

E0122: a text as a value
A GPU has no texts. They may stand in `print`, as the message of an `assert`, and as the
docstring; `print` takes its parts one by one instead of an f-string.
wrong:
    print(f"x = {x}")
right:
    print("x =", x)

E0123: a slice
Each invocation works on elements. A slice is a loop over its indices, or the work of many
invocations.
wrong:
    y[0:4] = x[4:8]
right:
    for k in range(4):
        y[k] = x[4 + k]

E0124: unpacking with `*` or `**`
How many values there are has to be plain from the text.
wrong:
    y = dot(*pair)
right:
    y = dot(a, b)

E0125: `:=`
An assignment is a statement of its own.
wrong:
    while (v := x[k]) > 0.0:
        k += 1
right:
    v = x[k]
    while v > 0.0:
        k += 1
        v = x[k]

E0126: `is`
Values of a kernel are numbers and have no identity; `==` compares them.
wrong:
    if flag is True: …
right:
    if flag: …

E0127: `in`
There are no containers to search. A few values are compared one by one, a range by its ends.
wrong:
    if k in (1, 2): …
right:
    if k == 1 or k == 2: …

E0128: a constant that is no number
The constants of a kernel are integers, floats, `True` and `False`. A missing value is marked by a
number (`nan`, -1) or by a truth value beside it.
wrong:
    best = None
right:
    best = -math.inf

E0129: a statement that does nothing
Python evaluates an expression that stands alone and drops its value. A function without
parentheses is not called, and `==` does not assign.
wrong:
    pw.workgroup_barrier
right:
    pw.workgroup_barrier()

E0130: several targets of a `for`
A loop has one index. Other values are computed from it in the body.
wrong:
    for k, v in enumerate(x): …
right:
    for k in range(len(x)):
        v = x[k]

E0131: a loop over something else than a range
A `for` runs over `range(…)`, `reversed(range(…))` or, unrolled when the kernel is compiled,
`pw.static_range(…)`.
wrong:
    for v in x:
        total += v
right:
    for k in range(len(x)):
        total += x[k]

E0132: a pattern that is no integer
`match` becomes WGSL's `switch`: a `case` is an integer, a dotted name of one, several of them
joined by `|`, or `_`. A bare name would match everything in Python.
wrong:
    match mode:
        case LINEAR: …
right:
    match mode:
        case Mode.LINEAR: …

E0133: an annotation in the wrong place
Only a local name can be annotated, with a type that is not in quotes. Elements and members have
the type of their array or struct.
wrong:
    x[i]: f32 = 0.0
right:
    x[i] = 0.0

E0134: the message of an `assert`
The message is fixed when the kernel is compiled; the sanitizer adds the invocation.
wrong:
    assert k < n, f"{k} is too large"
right:
    assert k < n, "k is too large"
"""
