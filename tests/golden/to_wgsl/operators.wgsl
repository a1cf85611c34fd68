struct Uniforms {
    launch_x: u32,
    launch_y: u32,
}

@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<i32>;
@group(0) @binding(2) var<uniform> uniforms: Uniforms;

fn trunc_rem_i32(a: i32, b: i32) -> i32 {
    return select(a - a / b * b, 0, b == 0);
}

fn floor_mod_i32(a: i32, b: i32) -> i32 {
    let remainder = trunc_rem_i32(a, b);
    return select(remainder, remainder + b, remainder != 0 && (remainder < 0) != (b < 0));
}

fn floor_div_i32(a: i32, b: i32) -> i32 {
    let quotient = a / b;
    let remainder = a - quotient * b;
    return select(quotient, quotient - 1, remainder != 0 && b != 0 && (remainder < 0) != (b < 0));
}

fn pow_i32(base: i32, exponent: i32) -> i32 {
    var result = 1;
    var square = base;
    for (var rest = exponent; rest > 0; rest >>= 1u) {
        if ((rest & 1) == 1) {
            result *= square;
        }
        square *= square;
    }
    return result;
}

fn isnan_f32(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn f32_to_i32(x: f32) -> i32 {
    return select(i32(clamp(x, -2147483648.0, 2147483520.0)), 0i, isnan_f32(x));
}

fn floor_mod_f32(a: f32, b: f32) -> f32 {
    return a - b * floor(a / b);
}

fn square_f32(x: f32) -> f32 {
    return x * x;
}

fn nan() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}

fn isinf_f32(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

fn inf() -> f32 {
    var bits = 0x7f800000u;
    return bitcast<f32>(bits);
}

fn pow_f32(x: f32, y: f32) -> f32 {
    if (x == 1.0 || y == 0.0) {
        return 1.0;
    }
    if (isnan_f32(x) || isnan_f32(y)) {
        return nan();
    }
    let size = abs(x);
    let whole = floor(y) == y;
    let odd = whole && abs(y) < 16777216.0 && floor(y * 0.5) * 2.0 < y;
    var result = 1.0;
    if (size == 0.0 || isinf_f32(x)) {
        result = select(0.0, inf(), (size == 0.0) == (y < 0.0));
    } else if (isinf_f32(y) && !(size == 1.0)) {
        result = select(0.0, inf(), (size > 1.0) == (y > 0.0));
    } else if (x < 0.0 && !whole) {
        return nan();
    } else if (!(size == 1.0)) {
        result = pow(size, y);
    }
    return select(result, -result, odd && (bitcast<u32>(x) >> 31u) == 1u);
}

fn max_f32(a: f32, b: f32) -> f32 {
    return select(a, b, b > a && !isnan_f32(a));
}

fn u32_to_f32(x: u32) -> f32 {
    if (x < 0x80000000u) {
        return f32(i32(x));
    }
    return f32(i32((x >> 1u) | (x & 1u))) * 2.0;
}

// kernel
@compute @workgroup_size(8, 8)
fn kernel(@builtin(global_invocation_id) global_id: vec3u) {
    if (global_id.x >= uniforms.launch_x || global_id.y >= uniforms.launch_y) {
        return;
    }
    let i = i32(global_id.x);
    let j = i32(global_id.y);
    let u = u32(out[i]);
    let x = a[i];
    let y = a[j];
    var z: f32;
    let flag = x < y;
    let other = x == y;
    out[i] = (i + j) * (i - (j - i));
    out[i] = i - (-5);
    out[i] = -(-i);
    out[i] = (i & j) | (i ^ 7);
    out[i] = (i << 3u) >> (u & 31u);
    out[i] = 1i << (u & 31u);
    out[i] = i / 8;
    out[i] = (i - j) >> 3u;
    out[i] = (i - j) & 7;
    out[i] = floor_mod_i32(i - j, 3);
    out[i] = floor_div_i32(i - j, j);
    var constant = 6;
    out[i] = constant + 7;
    var constant_2 = 0;
    out[i] = i / constant_2;
    out[i] = i * i * i;
    out[i] = pow_i32(i, j);
    out[i] = i32(-2147483648);
    out[i] = i32(select(1u, u, i < j));
    out[i] = f32_to_i32(x);
    out[i] = i32(flag);
    out[i] = i32(flag != other);
    out[i] = i32((flag && other) || !(x == y));
    out[i] = i32(0u - u);
    out[i] = min(i << (u & 31u), j);
    a[i] = floor(x / y);
    a[i] = x - y * floor(x / y);
    a[i] = floor_mod_f32(x + y, y);
    a[i] = x * x;
    a[i] = square_f32(square_f32(x + y));
    a[i] = pow_f32(x, y);
    a[i] = max_f32(x, 0.0);
    var constant_3 = 100.0;
    a[i] = exp(constant_3);
    a[i] = inf();
    a[i] = -inf();
    a[i] = nan();
    a[i] = bitcast<f32>(0x80000000u);
    a[i] = 0.1;
    a[i] = 3.4028234663852886e+38f;
    a[i] = f32(i);
    a[i] = u32_to_f32(u);
    a[i] = x / 0.0;
    a[i] = select(y, x, x < y && z > y);
}
