// An operation on one device has the same results on all of them.
// RUN: shardc-opt %s -p unify-meshes --no-locations 2>&1 | filecheck %s

sdy.mesh @pod = <["x"=2, "y"=2]>
sdy.mesh @ring = <["r"=4]>
sdy.mesh @two = <[], device_ids=[2]>
sdy.mesh @nine = <[], device_ids=[9]>

// CHECK:      sdy.mesh @pod =
// CHECK-NEXT: sdy.mesh @nine =
// CHECK-NOT:  sdy.mesh
// CHECK:      stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@pod, [{}, {}]>]>}
// CHECK:      stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@nine, []>]>}
// CHECK:      warning: stablehlo.add is to run on device 2 alone: every device takes part and has its result
// CHECK:      note: local code is the same on every device
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@ring, [{"r"}, {}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@pod, [{"x"}, {}]>}) {
  %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@two, []>]>} : tensor<8x4xf32>
  %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@nine, []>]>} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
