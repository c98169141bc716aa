// RUN: shardc-opt %s | filecheck %s
// RUN: shardc-opt %s --print-op-generic | shardc-opt | filecheck %s
// RUN: shardc-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK: sdy.mesh @pod = <["x"=4, "y"=2]>
// GENERIC: "sdy.mesh"() <{sym_name = "pod", mesh = #sdy.mesh<["x"=4, "y"=2]>}>
sdy.mesh @pod = <["x"=4, "y"=2]>
// CHECK: sdy.mesh @turned = <["x"=4, "y"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
sdy.mesh @turned = <["x"=4, "y"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
// CHECK: sdy.mesh @one = <[], device_ids=[3]>
sdy.mesh @one = <[], device_ids=[3]>

// CHECK-LABEL: func.func @shardings(
// CHECK-SAME: %a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@pod, [{"x":(1)2, ?}p1, {}], replicated={"y"}, unreduced={"x":(2)2}>}
func.func @shardings(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@pod, [{"x":(1)2, ?}p1, {}], replicated={"y"}, unreduced={"x":(2)2}>}) {
  // CHECK: sdy.sharding_constraint %a <@pod, [{"x", "y"}, {?}]> : tensor<8x8xf32>
  // GENERIC: "sdy.sharding_constraint"(%a) <{sharding = #sdy.sharding<@pod, [{"x", "y"}, {?}]>}>
  %0 = sdy.sharding_constraint %a <@pod, [{"x", "y"}, {?}]> : tensor<8x8xf32>
  // CHECK: sdy.reshard %{{.*}} <@pod, [{}, {}], replicated={"x"}> {shardc.partial = {max = ["x"]}} : tensor<8x8xf32>
  %1 = sdy.reshard %0 <@pod, [{}, {}], replicated={"x"}> {shardc.partial = {max = ["x"]}} : tensor<8x8xf32>
  // CHECK: stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@pod, [{"x"}, {}]>]>} : tensor<8x8xf32>
  %2 = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@pod, [{"x"}, {}]>]>} : tensor<8x8xf32>
  // CHECK: sdy.sharding_group %a group_id=3 : tensor<8x8xf32>
  sdy.sharding_group %a group_id=3 : tensor<8x8xf32>
  // CHECK: sdy.propagation_barrier %a allowed_direction=FORWARD : tensor<8x8xf32>
  // GENERIC: "sdy.propagation_barrier"(%a) <{allowed_direction = 1 : i32}>
  %3 = sdy.propagation_barrier %a allowed_direction=FORWARD : tensor<8x8xf32>
  // CHECK: sdy.constant dense<1.000000e+00> : tensor<8x8xf32>
  %4 = sdy.constant dense<1.0> : tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @collectives
func.func @collectives(%a: tensor<8x8xf32>) {
  // CHECK: sdy.all_gather [{"x"}, {}] %a out_sharding=<@pod, [{}, {}]> : tensor<8x8xf32>
  // GENERIC: "sdy.all_gather"(%a) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"x"}, {}]>, out_sharding = #sdy.sharding<@pod, [{}, {}]>}>
  %0 = sdy.all_gather [{"x"}, {}] %a out_sharding=<@pod, [{}, {}]> : tensor<8x8xf32>
  // CHECK: sdy.all_slice [{"x":(1)2}, {}] %a out_sharding=<@pod, [{"x":(1)2}, {}]> : tensor<8x8xf32>
  %1 = sdy.all_slice [{"x":(1)2}, {}] %a out_sharding=<@pod, [{"x":(1)2}, {}]> : tensor<8x8xf32>
  // CHECK: sdy.all_to_all [{"x"}: 0->1] %a out_sharding=<@pod, [{}, {"x"}]> : tensor<8x8xf32>
  %2 = sdy.all_to_all [{"x"}: 0->1] %a out_sharding=<@pod, [{}, {"x"}]> : tensor<8x8xf32>
  // CHECK: sdy.collective_permute %a out_sharding=<@pod, [{}, {"y"}]> : tensor<8x8xf32>
  %3 = sdy.collective_permute %a out_sharding=<@pod, [{}, {"y"}]> : tensor<8x8xf32>
  // CHECK: sdy.all_reduce {"x", "y"} %a out_sharding=<@pod, [{}, {}]> : tensor<8x8xf32>
  %4 = sdy.all_reduce {"x", "y"} %a out_sharding=<@pod, [{}, {}]> : tensor<8x8xf32>
  // CHECK: sdy.reduce_scatter [{"x"}, {}] %a out_sharding=<@pod, [{"x"}, {}]> : tensor<8x8xf32>
  %5 = sdy.reduce_scatter [{"x"}, {}] %a out_sharding=<@pod, [{"x"}, {}]> : tensor<8x8xf32>
  // CHECK: sdy.sharded_to_unreduced [{"x"}, {}] %a out_sharding=<@pod, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
  %6 = sdy.sharded_to_unreduced [{"x"}, {}] %a out_sharding=<@pod, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
  // CHECK: sdy.replicated_to_unreduced {"x"} %a out_sharding=<@pod, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
  %7 = sdy.replicated_to_unreduced {"x"} %a out_sharding=<@pod, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @bodies
func.func @bodies(%a: tensor<8x8xf32>) {
  // CHECK: sdy.manual_computation(%a) in_shardings=[<@pod, [{"x"}, {}]>] out_shardings=[<@pod, [{}, {"x"}]>] manual_axes={"x", "y"} (%b: tensor<2x8xf32>{{.*}}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@pod, [{"x"}, {}]>] out_shardings=[<@pod, [{}, {"x"}]>] manual_axes={"x", "y"} (%b: tensor<2x8xf32>) {
    // CHECK: "spmd.all_to_all"(%b) {axes = ["x"], concat_dim = 0 : i64, split_dim = 1 : i64} : (tensor<2x8xf32>) -> tensor<8x2xf32>
    %1 = "spmd.all_to_all"(%b) {axes = ["x"], split_dim = 1 : i64, concat_dim = 0 : i64} : (tensor<2x8xf32>) -> tensor<8x2xf32>
    // CHECK: sdy.return %{{.*}} : tensor<8x2xf32>
    sdy.return %1 : tensor<8x2xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: sdy.named_computation<"f">(%a) in_shardings=[<@pod, [{"x"}, {}]>] out_shardings=[<@pod, [{"x"}, {}]>] (%c: tensor<8x8xf32>{{.*}}) {
  %2 = sdy.named_computation<"f">(%a) in_shardings=[<@pod, [{"x"}, {}]>] out_shardings=[<@pod, [{"x"}, {}]>] (%c: tensor<8x8xf32>) {
    sdy.return %c : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}
