// RUN: shardc-opt %s -p reshards-to-collectives --no-locations --split-input-file | filecheck %s

// From rows to columns: one all-to-all, not a gather and a slice.
// CHECK-LABEL: @main
// CHECK-NEXT: {{.*}} = sdy.all_to_all [{"r"}: 0->1] %x out_sharding=<@ring, [{}, {"r"}]>
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>}) -> tensor<8x64xf32> {
  %0 = sdy.reshard %x <@ring, [{}, {"r"}]> : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// A partial sum that is wanted split is reduced and scattered at once.
// CHECK-LABEL: @main
// CHECK-NEXT: {{.*}} = sdy.reduce_scatter [{"r"}, {}] %x out_sharding=<@ring, [{"r"}, {}]>
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@ring, [{}, {}], unreduced={"r"}>}) -> tensor<8x64xf32> {
  %0 = sdy.reshard %x <@ring, [{"r"}, {}]> : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// Splitting further takes no communication, and notes stay on every step.
// CHECK-LABEL: @main
// CHECK-NEXT: {{.*}} = sdy.all_slice [{}, {"model"}] %x out_sharding=<@pod, [{"data"}, {"model"}]> {shardc.reason = "why"}
sdy.mesh @pod = <["data"=2, "model"=4]>
func.func @main(%x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {}]>}) -> tensor<8x64xf32> {
  %0 = sdy.reshard %x <@pod, [{"data"}, {"model"}]> {shardc.reason = "why"} : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// The order of axes within a dimension is changed by sending blocks, each device one.
// CHECK-LABEL: @main
// CHECK-NEXT: {{.*}} = sdy.collective_permute %x out_sharding=<@pod, [{"b", "a"}]>
sdy.mesh @pod = <["a"=2, "b"=4]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@pod, [{"a", "b"}]>}) -> tensor<8xf32> {
  %0 = sdy.reshard %x <@pod, [{"b", "a"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A reshard to where the tensor is already is nothing.
// CHECK-LABEL: @main
// CHECK-NEXT: func.return %x
sdy.mesh @ring = <["r"=4]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}]>}) -> tensor<8xf32> {
  %0 = sdy.reshard %x <@ring, [{"r"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// What is marked as one collective is that one, though a reduce-scatter and others would send less.
// CHECK-LABEL: @main
// CHECK-NEXT: %[[MOVED:.*]] = sdy.all_to_all [{"f"}: 1->0] %x out_sharding=<@pod, [{"d", "f"}, {}], unreduced={"m"}>
// CHECK-NEXT: {{.*}} = sdy.all_reduce {"m"} %[[MOVED]] out_sharding=<@pod, [{"d", "f"}, {}]>
// CHECK-NOT: at_once
sdy.mesh @pod = <["d"=2, "f"=4, "m"=2]>
func.func @main(%x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@pod, [{"d"}, {"f"}], unreduced={"m"}>}) -> tensor<64x64xf32> {
  %0 = sdy.reshard %x <@pod, [{"d", "f"}, {}], unreduced={"m"}> {shardc.at_once = "all_to_all"} : tensor<64x64xf32>
  %1 = sdy.reshard %0 <@pod, [{"d", "f"}, {}]> {shardc.at_once = "all_reduce"} : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
