// RUN: shardc-opt %s -split-input-file -sdy-verify-unreduced-axes -verify-diagnostics
// RUN: not shardc-opt %s -split-input-file -sdy-translate-mesh="old-mesh-name=n axis-names='a'" 2>&1 | filecheck %s --check-prefix=MESH
// RUN: not shardc-opt %s -split-input-file -sdy-translate-mesh="old-mesh-name=m axis-names='a'" 2>&1 | filecheck %s --check-prefix=AXES
// RUN: not shardc-opt %s -split-input-file -sdy-manual-axes-cleanup 2>&1 | filecheck %s --check-prefix=MANUAL
// MESH: error: Mesh n not found in module.
// AXES: sdy_newer_wrong.mlir:9:1: error: Both meshes must have the same number of axes.
// AXES: note: @m has 2
// MANUAL: error: op has manual_axes when there are no in/out shardings and the body is not empty
sdy.mesh @m = <["x"=2, "y"=2]>

func.func @kept(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}], unreduced={"y"}>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.negate %a
      {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}], unreduced={"y"}>]>} : tensor<8xf32>
  %1 = sdy.all_reduce {"y"} %0 out_sharding=<@m, [{"x"}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----
sdy.mesh @m = <["x"=2, "y"=2]>

func.func @dropped(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}], unreduced={"y"}>}) -> tensor<8xf32> {
  // expected-error@below {{'stablehlo.tanh' op dropped unreduced axis 'y'}}
  %0 = stablehlo.tanh %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----
sdy.mesh @m = <["x"=2, "y"=2]>

func.func @returned(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}], unreduced={"y"}>}) -> tensor<8xf32> {
  // expected-error@below {{'func.return' op has unreduced axes mismatch for 'y'}}
  return %a : tensor<8xf32>
}

// -----
sdy.mesh @m = <["x"=2, "y"=2]>

func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}

func.func @given(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"x"}>}) -> tensor<8xf32> {
  // expected-error@below {{'func.call' op has unreduced axes mismatch for 'x' at call argument 0.}}
  %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----
sdy.mesh @m = <["x"=2, "y"=2]>

func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}

func.func @taken(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{'func.call' op has unreduced axes mismatch for 'x, y' at call result 0.}}
  %0 = call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}], unreduced={"x", "y"}>]>}
      : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----
// The step of the import that completes manual axes knows no mesh here.
func.func @nowhere() {
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"a"} () {
    %0 = sdy.constant dense<1.0> : tensor<8xf32>
    sdy.return
  } : () -> ()
  return
}
