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

fn nan() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}

fn workgroup_max_f32(x: f32, lane: i32, subgroup: i32, subgroups: i32) -> f32 {
    let part = select(subgroupMax(x), nan(), subgroupAny(isnan_f32(x)));
    if (lane == 0) {
        scratch_f32[subgroup] = part;
    }
    workgroupBarrier();
    var total = scratch_f32[0];
    for (var other = 1; other < subgroups; other++) {
        total = larger_f32(total, scratch_f32[other]);
    }
    workgroupBarrier();
    return total;
}

fn workgroup_sum_f32(x: f32, lane: i32, subgroup: i32, subgroups: i32) -> f32 {
    let part = subgroupAdd(x);
    if (lane == 0) {
        scratch_f32[subgroup] = part;
    }
    workgroupBarrier();
    var total = scratch_f32[0];
    for (var other = 1; other < subgroups; other++) {
        total += scratch_f32[other];
    }
    workgroupBarrier();
    return total;
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
    @builtin(subgroup_invocation_id) subgroup_invocation_id: u32,
    @builtin(subgroup_id) subgroup_id: u32,
    @builtin(num_subgroups) num_subgroups: u32,
) {
    let lane = i32(subgroup_invocation_id);
    let subgroup = i32(subgroup_id);
    let subgroups = i32(num_subgroups);
    let i = i32(global_id.x);
    let largest = workgroup_max_f32(x[i], lane, subgroup, subgroups);
    let part = exp(x[i] - largest);
    let norm = workgroup_sum_f32(part, lane, subgroup, subgroups);
    out[i] = part / norm;
    if (i32(local_invocation_index) == 0) {
        if (norm > 10.0) {
            atomicAdd(&count[0], 1);
        }
        atomic_add_total(0, norm);
    }
}
