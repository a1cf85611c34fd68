"""What each error code means: `pywgsl explain CODE`.

One text for each group: E01 the Python that can be read, E02 names, E03 types, E04 what must hold
of a whole kernel, E05 launches. A test asserts that every code in use is explained.

An entry is a line `CODE: title`, a paragraph, and the mistake and its correction, indented under
`wrong:` and `right:`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

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

TYPES = r"""
E0301: something that is no value
A number, vector, matrix or array element can be computed with. A whole array, a module, a type, a
function or a tuple cannot.
wrong:
    y[i] = x + 1.0
right:
    y[i] = x[i] + 1.0

E0302: a builtin that does not accept its arguments
The rule of a builtin says what it takes: `(vec<N, T>, vec<N, T>) -> T where T: number` are two
vectors of one width and type. Integers become floats by themselves, i32 and u32 do not mix.
wrong:
    k = max(n, u32(1))
right:
    k = max(u32(n), u32(1))

E0303: a value of another type than is needed
An integer becomes a float by itself, and a literal takes the type of its context. Everything else
is converted by calling the type.
wrong:
    counts[i] = x[i]   # counts: Array[i32], x: Array[f32]
right:
    counts[i] = i32(x[i])

E0304: a constant that its type cannot hold
An i32 holds -2147483648 to 2147483647, a u32 0 to 4294967295, an f32 up to 3.4e38, an f16 up to
65504.
wrong:
    bits[i] = i32(0xFFFFFFFF)
right:
    bits[i] = u32(0xFFFFFFFF)

E0305: an operator that does not work on its operands
Arithmetic works on numbers, not on truth values; `&`, `|`, `^`, `~`, `<<` and `>>` work on
integers; vectors must have the same width. `*` of two matrices is `@`.
wrong:
    y[i] = x[i] * (x[i] > 0.0)
right:
    y[i] = x[i] * f32(x[i] > 0.0)

E0306: operands of types that do not mix
i32 and u32, f16 and f32, numbers and truth values have no common type that holds both, so one of
them is converted by calling the type.
wrong:
    k = n + u   # n: i32, u: u32
right:
    k = u32(n) + u

E0307: a condition that is no bool
`if`, `while`, `and`, `or`, `not` and `assert` take a truth value. Numbers are compared, because
WGSL has no truth of numbers, and because `nan` would count as true.
wrong:
    if n: …
right:
    if n != 0: …

E0308: a constant that cannot be computed
An expression of constants is computed when the kernel is compiled, as Python computes it.
wrong:
    y[i] = 1 / (N - 4)   # N = 4
right:
    y[i] = 1 / N

E0309: a shift by a constant outside of 0 to 31
Integers have 32 bits. (A shift count that is computed counts modulo 32.)
wrong:
    high = bits >> 32
right:
    high = bits >> 31

E0310: an integer to a negative power
The result would be a fraction, and an integer cannot hold it.
wrong:
    y[i] = n ** -1
right:
    y[i] = f32(n) ** -1

E0311: a call with the wrong arguments
Builtins and types take a fixed number of arguments, by position. Helpers take theirs by position
or name, and those with a default may be left out.
wrong:
    y[i] = pw.clamp(x[i], 1.0)
right:
    y[i] = pw.clamp(x[i], 0.0, 1.0)

E0312: a form of the language in a place where it has no meaning
`range`, `reversed` and `static_range` stand behind the `in` of a loop.
wrong:
    steps = range(n)
    for k in steps: …
right:
    for k in range(n): …

E0313: a call of something that kernels cannot call
A kernel can call builtins of pywgsl, functions of `math`, types, and helpers that are decorated
with `@pw.function`.
wrong:
    def half(v):
        return v * 0.5
right:
    @pw.function
    def half(v):
        return v * 0.5

E0314: a conversion that does not exist
A scalar type converts scalars, a vector type vectors of its width; `bitcast` takes two types of
the same size.
wrong:
    y[i] = f32(point)   # a vec2f
right:
    y[i] = point.x

E0315: a length that is not known when the kernel is compiled
Memory of an invocation has a fixed size. Its length is a literal, a number of the module, or a
compile-time parameter.
wrong:
    def step(x: Array[f32], n: i32):
        sums = pw.local_array(f32, n)
right:
    def step(x: Array[f32], n: pw.Const[int]):
        sums = pw.local_array(f32, n)

E0316: the wrong number of indices
An array takes as many indices as it has axes, all in one pair of brackets.
wrong:
    y[i] = m[i][j]   # m: Array2D[f32]
right:
    y[i] = m[i, j]

E0317: an index that is no integer, or must be constant
Indices are i32 or u32. Tuples, shapes, and lists or arrays of the module that are no parameters
are indexed by constants only.
wrong:
    y[i] = x[n / 2]
right:
    y[i] = x[n // 2]

E0318: a subscript of something without elements
Arrays, local arrays, vectors and matrices have elements; a number has none.
wrong:
    v = x[i]
    y[i] = v[0]
right:
    y[i] = x[i]

E0319: a constant index out of range
The length is known when the kernel is compiled, and the index is not below it. Negative constants
count from the end.
wrong:
    v = vec2f(1.0, 2.0)
    y[i] = v[2]
right:
    v = vec2f(1.0, 2.0)
    y[i] = v[1]

E0320: something that cannot be assigned to
Variables of the kernel, their elements and components, and elements of parameters that are arrays
can be assigned to. Constants of the module and results of calls cannot.
wrong:
    v.xx = vec2f(1.0, 2.0)
right:
    v.xy = vec2f(1.0, 2.0)

E0321: a name for one of several arrays or functions
Which array or function a name stands for is decided when the kernel is compiled, so it cannot
depend on a branch or loop.
wrong:
    source = a if flag else b
    y[i] = source[i]
right:
    y[i] = a[i] if flag else b[i]

E0322: values that cannot be unpacked
A tuple is unpacked into as many names as it has items; an array or vector is not unpacked.
wrong:
    rows, columns = x.shape   # x: Array[f32]
right:
    (rows,) = x.shape

E0323: an annotation that is no type
Each parameter of a kernel has a type: a buffer (`Array[f32]`, `Array2D[vec4f]`), a value (`f32`,
`vec3f`), or a compile-time parameter (`pw.Const[int]`). A local may have one, and only one.
wrong:
    def scale(x: np.ndarray, factor: np.float32): …
right:
    def scale(x: Array[f32], factor: f32): …

E0324: a store into a parameter
Vectors, matrices and local arrays are values: a call passes a copy. A store into the copy would
not change the caller's, as a reader of Python might expect.
wrong:
    @pw.function
    def flatten(v):
        v.z = 0.0
right:
    @pw.function
    def flatten(v):
        own = v
        own.z = 0.0
        return own

E0325: a `match` on something else than an integer
`match` becomes WGSL's `switch`, which takes an i32 or u32, and cases that are constants.
wrong:
    match x[i]: …   # x: Array[f32]
right:
    match i32(x[i]): …

E0327: a loop that does not run over a range
A loop runs over `range`, `static_range`, or `reversed` of one of them.
wrong:
    for k in items(n): …
right:
    for k in range(n): …

E0328: a bound of a range that is no integer
The bounds of a range are i32 or u32, all three alike; a range of u32 cannot count down.
wrong:
    for k in range(n / 2): …
right:
    for k in range(n // 2): …

E0329: a step of zero
A range with this step would never end. (A step that is computed and happens to be zero gives no
iterations.)
wrong:
    for k in range(0, n, 0): …
right:
    for k in range(0, n, 1): …

E0330: a static range that cannot be unrolled
`static_range` writes the body of the loop once for each number, so its bounds must be known when
the kernel is compiled, and there must not be thousands.
wrong:
    for k in pw.static_range(n): …   # n: i32
right:
    for k in range(n): …

E0332: an argument that is not known when the kernel is compiled
A parameter `n: pw.Const[int]` of a helper takes a constant, and the helper is compiled for it.
wrong:
    y[i] = power(x[i], n)   # n: i32
right:
    y[i] = power(x[i], 3)
"""

VALIDITY = r"""
E0401: a kernel that returns a value
A kernel runs once for each invocation and has no caller to return to. A bare `return` ends an
invocation.
wrong:
    return x[i] * 2.0
right:
    y[i] = x[i] * 2.0

E0402: a helper that returns a value only sometimes
A helper returns a value on every path, or on none.
wrong:
    @pw.function
    def root(v):
        if v > 0.0:
            return pw.sqrt(v)
right:
    @pw.function
    def root(v):
        if v > 0.0:
            return pw.sqrt(v)
        return 0.0

E0403: recursion
GPUs have no call stack, so a helper calls neither itself nor one that calls it.
wrong:
    @pw.function
    def factorial(n):
        return n * factorial(n - 1) if n > 1 else 1
right:
    @pw.function
    def factorial(n):
        result = 1
        for k in range(2, n + 1):
            result *= k
        return result

E0404: blocks nested too deeply
Compilers of WGSL take blocks up to about a hundred deep. A long `elif` chain is no problem.
wrong:
    if a:
        if b: …   # and so on, a hundred times
right:
    if a:
        inner(b)   # a helper
"""

LAUNCH = r"""
E0501: a device refused the generated WGSL
pywgsl wrote something that the compiler of this device does not accept. That is a mistake of
pywgsl, or of the driver, and never of the kernel's author: please report it with the text of the
message. The line that it came from may be written in another way meanwhile.
wrong:
    (the line that the message shows)
right:
    (the same in other words; `kernel.wgsl()` shows what they become)
"""

_ENTRY = re.compile(
    r"""
    ^(?P<code>E\d{4}):[ ](?P<title>.+)\n
    (?P<text>(?:\S.*\n)+)
    wrong:\n(?P<wrong>(?:[ ]{4}.*\n|\n(?=[ ]{4}))+)
    right:\n(?P<right>(?:[ ]{4}.*\n|\n(?=[ ]{4}))+)
    """,
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an error code means, with the mistake and its correction."""

    code: str
    title: str
    text: str
    wrong: str
    right: str

    def __str__(self) -> str:
        return (
            f"{self.code}: {self.title}\n\n{self.text}\n"
            f"Instead of\n\n{self.wrong}\nwrite\n\n{self.right}"
        )


@cache
def explanations() -> dict[str, Explanation]:
    """Return the explanation of every code."""
    text = "\n".join([SYNTAX, NAMES, TYPES, VALIDITY, LAUNCH])
    return {entry["code"]: Explanation(**entry.groupdict()) for entry in _ENTRY.finditer(text)}


def explain(code: str) -> str:
    """Return what a code means, as text for a terminal.

    Raises:
        KeyError: If there is no such code.
    """
    return str(explanations()[code])
