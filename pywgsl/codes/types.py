"""E03: types and values."""

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

E0334: an atomic operation on something else
Atomic operations change elements of a buffer or of a workgroup array, of type `i32`, `u32` or
`f32`. The array and the index are given apart, as the element itself would be its value.
wrong:
    pw.atomic_add(counts[i], 1)
right:
    pw.atomic_add(counts, i, 1)

E0335: a type variable of which nothing says what it stands for
A variable names its types, `T = TypeVar("T", f32, f16)`, and a parameter's type uses it: the arrays
of a launch, or the arguments of a call, choose one of them.
wrong:
    T = TypeVar("T")
right:
    T = TypeVar("T", f32, f16)

E0336: arguments of which a type variable cannot be the type
In one call a type variable is one type, and one of those that it names.
wrong:
    y[i] = add(x[i], h[i])   # def add(a: T, b: T), x: Array[f32], h: Array[f16]
right:
    y[i] = add(x[i], f32(h[i]))

E0337: two structs of one name
The structs of a kernel, those of its helpers among them, are told apart by their names.
wrong:
    def step(p: Array[cloth.Particle], q: Array[sand.Particle]): …   # two classes `Particle`
right:
    def step(p: Array[cloth.Thread], q: Array[sand.Grain]): …
"""
