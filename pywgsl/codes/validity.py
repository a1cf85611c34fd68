"""E04: what must hold of a whole kernel."""

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

E0405: not every invocation reaches an operation of the workgroup
A barrier, or an operation such as `workgroup_sum`, waits for every invocation of the workgroup. If
some never come, the others wait for ever, or read what is not there yet. What decides a branch, a
loop or a return around it must be the same for all of them: a parameter, `workgroup_id`, a
buffer that the kernel only reads, or the result of another such operation.
wrong:
    if i >= n:
        return
    total = pw.workgroup_sum(x[i])
right:
    value = 0.0
    if i < n:
        value = x[i]
    total = pw.workgroup_sum(value)
"""
