// `<[]>` among the shardings of a manual computation stands for the mesh beside it: the value is whole there.
// RUN: shardc-opt %s -p unify-meshes --no-locations | filecheck %s
// RUN: shardc-opt %s -sdy-propagation-pipeline | filecheck %s --check-prefix=SHARDY
// RUN: shardc %s --emit local | filecheck %s --check-prefix=LOCAL

sdy.mesh @none = <[]>
sdy.mesh @m = <["x"=2]>

// CHECK-NOT: sdy.mesh @none
// CHECK: in_shardings=[<@m, [{}]>, <@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>] manual_axes={"x"}
// SHARDY: stablehlo.tanh %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}]>]>}
// LOCAL: in_shardings=[<@m, [{}]>, <@m, [{"x"}]>] {{.*}} (%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<4xf32>)
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@none, [{}]>, <@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>]
      manual_axes={"x"} (%c: tensor<8xf32>, %d: tensor<4xf32>) {
    %1 = stablehlo.slice %c [0:4] : (tensor<8xf32>) -> tensor<4xf32>
    %2 = stablehlo.add %1, %d : tensor<4xf32>
    sdy.return %2 : tensor<4xf32>
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
