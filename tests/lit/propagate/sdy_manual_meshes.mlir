// RUN: shardc-opt %s -sdy-manual-axes-cleanup | filecheck %s
// A mesh that stands in a sharding of per-device code is written as the first one of the others.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: in_shardings=[<@m, [{"y"}], replicated={"x"}>] out_shardings=[<@m, [{"x"}], replicated={"y"}>] manual_axes={"x", "y"}
  %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"y"}]>] out_shardings=[<mesh<["x"=2, "y"=2]>, [{"x"}]>] manual_axes={"y", "x"} (%d: tensor<4xf32>) {
    sdy.return %d : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
