// RUN: shardc-opt %s -p propagate -verify-diagnostics --no-locations | filecheck %s
// Members of a group that start with different shardings: a warning, and the group's common sharding is open.
sdy.mesh @m = <["x"=2, "y"=4]>

// CHECK: func.func @main
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>},
                %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>}) -> tensor<8xf32> {
  // expected-warning@+1 {{the values of sharding group 0 start with different shardings: [x], [y]}}
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  sdy.sharding_group %b group_id=0 : tensor<8xf32>
  return %b : tensor<8xf32>
}
