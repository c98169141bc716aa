// RUN: not shardc-opt %s -p name-axes 2>&1 | filecheck %s
// CHECK: name-axes-wrong.mlir:7:5: error: the groups of all_gather do not lie along axes of mesh m[x=2, y=2]: [0, 3], [1, 2]
// CHECK: note: the devices of a group differ along whole axes, or along a part of one that divides it
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<16xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x", "y"}]>] out_shardings=[<@m, [{"x", "y"}]>] manual_axes={"x", "y"} (%b: tensor<2xf32>) {
    %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
