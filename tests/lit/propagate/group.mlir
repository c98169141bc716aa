// RUN: shardc-opt %s -p propagate --no-locations | filecheck %s
// Members of a sharding group are sharded alike, though no operation connects them.
sdy.mesh @m = <["x"=2]>

// CHECK: %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}]>}
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}]>}, %b: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  sdy.sharding_group %b group_id=0 : tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}
