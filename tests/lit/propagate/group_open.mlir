// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// A member whose dimensions are all open says nothing, so the group starts with what %b says, closed as it is.
sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK: @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  sdy.sharding_group %b group_id=0 : tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}
