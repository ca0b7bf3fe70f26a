// RUN: zero-opt %s --split-input-file --verify-diagnostics

plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
// expected-error @+1 {{'plan.buffer' op has a negative size of -1 bytes}}
plan.buffer @a in @device {content = #plan<content activations>, label = "", size_bytes = -1 : i64}

// -----

plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
// expected-error @+1 {{'plan.buffer' op has 72 padding bytes of 64}}
plan.buffer @a in @device {content = #plan<content buckets>, label = "", padding_bytes = 72 : i64, size_bytes = 64 : i64}

// -----

plan.arena @device {kind = #plan<memory_kind device>, size_bytes = 0 : i64}
// expected-error @+1 {{'plan.buffer' op starts at 32, which is not a multiple of 64}}
plan.buffer @a in @device {content = #plan<content buckets>, label = "", offset = 32 : i64, size_bytes = 64 : i64}

// -----

// expected-error @+1 {{'plan.zero' op expects parent op 'plan.section'}}
plan.zero on compute [] waits []

// -----

plan.section @update {
  // expected-error @+1 {{'plan.collective' op has target element 'f32', but only a reduce_scatter changes elements}}
  plan.collective all_gather bf16 as f32 on gather <@s, 0, 64> to <@b, 0, 128> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
}

// -----

plan.section @update {
  // expected-error @+1 {{'plan.collective' op has target element 'bf16', which is that of what is sent}}
  plan.collective reduce_scatter bf16 as bf16 on reduce <@b, 0, 128> to <@s, 0, 64> waits [] {label = "b0", sequence = 0 : i64, wire_bytes = 64 : i64}
}

// -----

// expected-error @+1 {{'plan.target' is "tpu" but must be "cpu" or "cuda"}}
module attributes {plan.target = "tpu"} {}

// -----

// expected-error @+1 {{'plan.fast' says how cuda kernels compute, but 'plan.target' is not "cuda"}}
module attributes {plan.fast} {}

// -----

// expected-error @+1 {{'plan.deterministic' and 'plan.fast' exclude each other}}
module attributes {plan.target = "cuda", plan.deterministic, plan.fast} {}

// -----

// expected-error @+1 {{'plan.tf32' is false but takes no value}}
module attributes {plan.target = "cuda", plan.tf32 = false} {}

// -----

// expected-error @+1 {{'plan.tf32' says how cuda kernels compute, but 'plan.target' is not "cuda"}}
module attributes {plan.tf32} {}

// -----

// expected-error @+1 {{'plan.cudnn_convolutions' says how cuda kernels compute, but 'plan.target' is not "cuda"}}
module attributes {plan.cudnn_convolutions} {}

// -----

// expected-error @+1 {{'plan.fast' is true but takes no value}}
module attributes {plan.target = "cuda", plan.fast = true} {}

// -----

// expected-error @+1 {{'plan.cuda_workspace_bytes' is -1 : i64 but must be an i64 of at least 0}}
module attributes {plan.target = "cuda", plan.cuda_workspace_bytes = -1 : i64} {}

// -----

// expected-error @+1 {{'plan.quick' is no attribute of the plan dialect}}
module attributes {plan.target = "cuda", plan.quick} {}

// -----

// expected-error @+1 {{'plan.target' is an attribute of modules}}
plan.section @update {} {plan.target = "cuda"}
