@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> out: array<i32>;

var<workgroup> scratch_i32: array<i32, 96>;
var<workgroup> scratch_u32: array<u32, 96>;

fn workgroup_inclusive_scan_i32(x: i32, lane: i32) -> i32 {
    var total = x;
    for (var reach = 1; reach < 96; reach <<= 1u) {
        scratch_i32[lane] = total;
        workgroupBarrier();
        if (lane >= reach) {
            total = scratch_i32[lane - reach] + total;
        }
        workgroupBarrier();
    }
    return total;
}

fn workgroup_exclusive_scan_i32(x: i32, lane: i32) -> i32 {
    scratch_i32[lane] = workgroup_inclusive_scan_i32(x, lane);
    workgroupBarrier();
    var before = 0;
    if (lane > 0) {
        before = scratch_i32[lane - 1];
    }
    workgroupBarrier();
    return before;
}

fn workgroup_max_u32(x: u32, lane: i32) -> u32 {
    scratch_u32[lane] = x;
    for (var reach = 64; reach > 0; reach >>= 1u) {
        workgroupBarrier();
        if (lane < reach && lane + reach < 96) {
            scratch_u32[lane] = max(scratch_u32[lane], scratch_u32[lane + reach]);
        }
    }
    return workgroupUniformLoad(&scratch_u32[0]);
}

fn workgroup_any_bool(x: bool, lane: i32) -> bool {
    return workgroup_max_u32(u32(x), lane) != 0u;
}

fn workgroup_broadcast_i32(x: i32, source: i32, lane: i32) -> i32 {
    let inside = u32(source) < 96u;
    if (lane == select(0, source, inside)) {
        scratch_i32[0] = select(0, x, inside);
    }
    return workgroupUniformLoad(&scratch_i32[0]);
}

// scans
@compute @workgroup_size(96)
fn scans(
    @builtin(global_invocation_id) global_id: vec3u,
    @builtin(local_invocation_index) local_invocation_index: u32,
) {
    let local_index = i32(local_invocation_index);
    let i = i32(global_id.x);
    let before = workgroup_exclusive_scan_i32(x[i], local_index);
    let any = workgroup_any_bool(x[i] > 0, local_index);
    let first = workgroup_broadcast_i32(x[i], 0, local_index);
    if (any) {
        out[i] = before + first;
    }
}
