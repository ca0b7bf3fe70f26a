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
