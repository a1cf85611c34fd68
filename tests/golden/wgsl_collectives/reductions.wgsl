@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read_write> count: array<atomic<i32>>;
@group(0) @binding(3) var<storage, read_write> total: array<atomic<u32>>;

var<workgroup> scratch_f32: array<f32, 256>;

fn isnan_f32(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn larger_f32(a: f32, b: f32) -> f32 {
    return select(a, b, b > a || isnan_f32(b));
}

fn workgroup_max_f32(x: f32, lane: i32) -> f32 {
    scratch_f32[lane] = x;
    for (var reach = 128; reach > 0; reach >>= 1u) {
        workgroupBarrier();
        if (lane < reach) {
            scratch_f32[lane] = larger_f32(scratch_f32[lane], scratch_f32[lane + reach]);
        }
    }
    return workgroupUniformLoad(&scratch_f32[0]);
}

fn workgroup_sum_f32(x: f32, lane: i32) -> f32 {
    scratch_f32[lane] = x;
    for (var reach = 128; reach > 0; reach >>= 1u) {
        workgroupBarrier();
        if (lane < reach) {
            scratch_f32[lane] += scratch_f32[lane + reach];
        }
    }
    return workgroupUniformLoad(&scratch_f32[0]);
}

fn atomic_add_total(i: i32, value: f32) -> f32 {
    var old = atomicLoad(&total[i]);
    loop {
        let result = atomicCompareExchangeWeak(&total[i], old, bitcast<u32>(bitcast<f32>(old) + value));
        if (result.exchanged) {
            break;
        }
        old = result.old_value;
    }
    return bitcast<f32>(old);
}

// softmax
@compute @workgroup_size(256)
fn softmax(
    @builtin(global_invocation_id) global_id: vec3u,
    @builtin(local_invocation_index) local_invocation_index: u32,
) {
    let local_index = i32(local_invocation_index);
    let i = i32(global_id.x);
    let largest = workgroup_max_f32(x[i], local_index);
    let part = exp(x[i] - largest);
    let norm = workgroup_sum_f32(part, local_index);
    out[i] = part / norm;
    if (local_index == 0) {
        if (norm > 10.0) {
            atomicAdd(&count[0], 1);
        }
        atomic_add_total(0, norm);
    }
}
