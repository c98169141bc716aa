// RUN: shardc-opt %s -p unify-meshes --no-locations --split-input-file | filecheck %s

// Per-device code too: axes of the ring are those of the pod.
// CHECK: sdy.mesh @pod
// CHECK-NOT: sdy.mesh @ring
// CHECK: @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {"model"}]>})
// CHECK: sdy.sharding_constraint %x <@pod, [{"data", "model"}, {?}]>
// CHECK: sdy.manual_computation({{.*}}) in_shardings=[<@pod, [{"data", "model"}, {}]>] out_shardings=[<@pod, [{"data", "model"}, {}]>] manual_axes={"data", "model"}
// CHECK: spmd.all_reduce{{.*}}axes = ["data", "model"]
sdy.mesh @pod = <["data"=2, "model"=4]>
sdy.mesh @ring = <["r"=8]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@pod, [{"data"}, {"model"}]>}) -> tensor<8x8xf32> {
  %0 = sdy.sharding_constraint %x <@ring, [{"r"}, {?}]> : tensor<8x8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@ring, [{"r"}, {}]>] out_shardings=[<@ring, [{"r"}, {}]>] manual_axes={"r"} (%a: tensor<1x8xf32>) {
    %2 = "spmd.all_reduce"(%a) {axes = ["r"], kind = "sum"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
    sdy.return %2 : tensor<1x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// -----

// Axes that do not line up stay as they are.
// CHECK-LABEL: @apart
// CHECK-SAME: <@one, [{"a"}]>
// CHECK: sdy.sharding_constraint %x <@other, [{"p"}]>
sdy.mesh @one = <["a"=2, "b"=3]>
sdy.mesh @other = <["p"=3, "q"=2]>
func.func @apart(%x: tensor<6xf32> {sdy.sharding = #sdy.sharding<@one, [{"a"}]>}) -> tensor<6xf32> {
  %0 = sdy.sharding_constraint %x <@other, [{"p"}]> : tensor<6xf32>
  return %0 : tensor<6xf32>
}
