// RUN: shardc-opt %s -p keep-blocks --no-locations | filecheck %s

// What a choice makes leaves as blocks where per-device code alone reads it, as it left; the second result is
// no choice's, and the third is read by the program.
// CHECK: [[A:%.*]], [[B:%.*]], [[C:%.*]] = sdy.manual_computation(%x)
// CHECK-SAME: out_shardings=[<@line, [{"x"}, {}]>, <@line, [{}]>, <@line, [{}]>]
// CHECK: sdy.manual_computation([[A]], [[B]], [[C]])
// CHECK-SAME: in_shardings=[<@line, [{"x"}, {}]>, <@line, [{}]>, <@line, [{}]>]
// CHECK-SAME: (%a: tensor<1x3xi32>,
// CHECK: (tensor<4x3xi32>, tensor<2xi32>, tensor<3xi32>)
sdy.mesh @line = <["x"=4]>
func.func @main(%x: tensor<4xi32> {sdy.sharding = #sdy.sharding<@line, [{"x"}]>}) -> (tensor<4xi32>, tensor<3xi32>) {
  %0:3 = sdy.manual_computation(%x) in_shardings=[<@line, [{"x"}]>] out_shardings=[<@line, [{}, {}]>, <@line, [{}]>, <@line, [{}]>] manual_axes={"x"} (%b: tensor<1xi32>) {
    %mine = stablehlo.reshape %b : (tensor<1xi32>) -> tensor<i32>
    %c = stablehlo.constant dense<1> : tensor<2xi32>
    %1:2 = "stablehlo.case"(%mine) ({
      %2 = stablehlo.constant dense<0> : tensor<3xi32>
      stablehlo.return %2, %2 : tensor<3xi32>, tensor<3xi32>
    }, {
      %2 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
      stablehlo.return %2, %2 : tensor<3xi32>, tensor<3xi32>
    }) : (tensor<i32>) -> (tensor<3xi32>, tensor<3xi32>)
    %3 = stablehlo.reshape %1#0 : (tensor<3xi32>) -> tensor<1x3xi32>
    sdy.return %3, %c, %1#1 : tensor<1x3xi32>, tensor<2xi32>, tensor<3xi32>
  } : (tensor<4xi32>) -> (tensor<1x3xi32>, tensor<2xi32>, tensor<3xi32>)
  %1 = sdy.manual_computation(%0#0, %0#1, %0#2) in_shardings=[<@line, [{}, {}]>, <@line, [{}]>, <@line, [{}]>] out_shardings=[<@line, [{"x"}]>] manual_axes={"x"} (%a: tensor<1x3xi32>, %b: tensor<2xi32>, %c: tensor<3xi32>) {
    %2 = stablehlo.slice %a [0:1, 0:1] : (tensor<1x3xi32>) -> tensor<1x1xi32>
    %3 = stablehlo.reshape %2 : (tensor<1x1xi32>) -> tensor<1xi32>
    sdy.return %3 : tensor<1xi32>
  } : (tensor<1x3xi32>, tensor<2xi32>, tensor<3xi32>) -> tensor<4xi32>
  return %1, %0#2 : tensor<4xi32>, tensor<3xi32>
}
