module @headwater {
  func.func public @main(
      %arg0_ids: tensor<3xi32>,
      %arg1_key: tensor<2xui32>,
      %arg2_table: tensor<5x2xf32>,
      %arg3_bias: tensor<5xf32>) -> (tensor<5x2xf32>, tensor<3xi32>) {
    %gather_rows_1 = "stablehlo.gather"(%arg2_table, %arg0_ids) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>, indices_are_sorted = false} : (tensor<5x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>
    %dot_2 = stablehlo.dot_general %gather_rows_1, %arg2_table, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<3x2xf32>, tensor<5x2xf32>) -> tensor<3x5xf32>
    %broadcast_3 = stablehlo.broadcast_in_dim %arg3_bias, dims = [1] : (tensor<5xf32>) -> tensor<3x5xf32>
    %add_4 = stablehlo.add %dot_2, %broadcast_3 : tensor<3x5xf32>
    %iota_5 = stablehlo.iota dim = 1 : tensor<3x5xi32>
    %reduce_max_6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %reduce_max_7 = stablehlo.reduce(%add_4 init: %reduce_max_6) applies stablehlo.maximum across dimensions = [1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<3xf32>
    %reshape_8 = stablehlo.reshape %reduce_max_7 : (tensor<3xf32>) -> tensor<3x1xf32>
    %reshape_9 = stablehlo.reshape %reshape_8 : (tensor<3x1xf32>) -> tensor<3xf32>
    %broadcast_10 = stablehlo.broadcast_in_dim %reshape_9, dims = [0] : (tensor<3xf32>) -> tensor<3x5xf32>
    %sub_11 = stablehlo.subtract %add_4, %broadcast_10 : tensor<3x5xf32>
    %exp_12 = stablehlo.exponential %sub_11 : tensor<3x5xf32>
    %reduce_sum_13 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_14 = stablehlo.reduce(%exp_12 init: %reduce_sum_13) applies stablehlo.add across dimensions = [1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<3xf32>
    %log_15 = stablehlo.log %reduce_sum_14 : tensor<3xf32>
    %add_16 = stablehlo.add %log_15, %reduce_max_7 : tensor<3xf32>
    %argmax_17 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %argmax_18 = stablehlo.broadcast_in_dim %argmax_17, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %argmax_19 = stablehlo.compare EQ, %add_4, %add_4, FLOAT : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
    %argmax_20 = stablehlo.select %argmax_19, %add_4, %argmax_18 : tensor<3x5xi1>, tensor<3x5xf32>
    %argmax_21 = stablehlo.iota dim = 1 : tensor<3x5xi32>
    %argmax_22 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %argmax_23 = stablehlo.constant dense<2147483647> : tensor<i32>
    %argmax_24:2 = stablehlo.reduce(%argmax_20 init: %argmax_22), (%argmax_21 init: %argmax_23) across dimensions = [1] : (tensor<3x5xf32>, tensor<3x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %larger = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %equal = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %earlier = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %tie = stablehlo.and %equal, %earlier : tensor<i1>
      %first = stablehlo.or %larger, %tie : tensor<i1>
      %value = stablehlo.select %first, %a, %b : tensor<i1>, tensor<f32>
      %index = stablehlo.select %first, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %value, %index : tensor<f32>, tensor<i32>
    }
    %constant_25 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %broadcast_26 = stablehlo.broadcast_in_dim %constant_25, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %barrier_27:6 = stablehlo.optimization_barrier %gather_rows_1, %arg2_table, %arg3_bias, %arg0_ids, %add_16, %broadcast_26 : tensor<3x2xf32>, tensor<5x2xf32>, tensor<5xf32>, tensor<3xi32>, tensor<3xf32>, tensor<3xf32>
    %dot_28 = stablehlo.dot_general %barrier_27#0, %barrier_27#1, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<3x2xf32>, tensor<5x2xf32>) -> tensor<3x5xf32>
    %broadcast_29 = stablehlo.broadcast_in_dim %barrier_27#2, dims = [1] : (tensor<5xf32>) -> tensor<3x5xf32>
    %add_30 = stablehlo.add %dot_28, %broadcast_29 : tensor<3x5xf32>
    %reshape_31 = stablehlo.reshape %barrier_27#4 : (tensor<3xf32>) -> tensor<3x1xf32>
    %reshape_32 = stablehlo.reshape %reshape_31 : (tensor<3x1xf32>) -> tensor<3xf32>
    %broadcast_33 = stablehlo.broadcast_in_dim %reshape_32, dims = [0] : (tensor<3xf32>) -> tensor<3x5xf32>
    %sub_34 = stablehlo.subtract %add_30, %broadcast_33 : tensor<3x5xf32>
    %exp_35 = stablehlo.exponential %sub_34 : tensor<3x5xf32>
    %reshape_36 = stablehlo.reshape %barrier_27#5 : (tensor<3xf32>) -> tensor<3x1xf32>
    %reshape_37 = stablehlo.reshape %barrier_27#3 : (tensor<3xi32>) -> tensor<3x1xi32>
    %reshape_38 = stablehlo.reshape %reshape_37 : (tensor<3x1xi32>) -> tensor<3xi32>
    %broadcast_39 = stablehlo.broadcast_in_dim %reshape_38, dims = [0] : (tensor<3xi32>) -> tensor<3x5xi32>
    %compare_40 = stablehlo.compare EQ, %broadcast_39, %iota_5, SIGNED : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
    %convert_41 = stablehlo.convert %compare_40 : (tensor<3x5xi1>) -> tensor<3x5xf32>
    %sub_42 = stablehlo.subtract %exp_35, %convert_41 : tensor<3x5xf32>
    %reshape_43 = stablehlo.reshape %reshape_36 : (tensor<3x1xf32>) -> tensor<3xf32>
    %broadcast_44 = stablehlo.broadcast_in_dim %reshape_43, dims = [0] : (tensor<3xf32>) -> tensor<3x5xf32>
    %mul_45 = stablehlo.multiply %sub_42, %broadcast_44 : tensor<3x5xf32>
    %dot_46 = stablehlo.dot_general %mul_45, %barrier_27#1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
    %dot_47 = stablehlo.dot_general %mul_45, %barrier_27#0, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x5xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
    %scatter_add_rows_48 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %scatter_add_rows_49 = stablehlo.broadcast_in_dim %scatter_add_rows_48, dims = [] : (tensor<f32>) -> tensor<5x2xf32>
    %scatter_add_rows_50 = "stablehlo.scatter"(%scatter_add_rows_49, %arg0_ids, %dot_46) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false} : (tensor<5x2xf32>, tensor<3xi32>, tensor<3x2xf32>) -> tensor<5x2xf32>
    %add_51 = stablehlo.add %dot_47, %scatter_add_rows_50 : tensor<5x2xf32>
    return %add_51, %argmax_24#1 : tensor<5x2xf32>, tensor<3xi32>
  }
}
