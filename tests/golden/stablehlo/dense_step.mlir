module @headwater {
  func.func public @main(
      %arg0_x: tensor<4x3xf32>,
      %arg1_key: tensor<2xui32>,
      %arg2_dense.weight: tensor<3x3xf32> {tf.aliasing_output = 0 : i32},
      %arg3_dense.bias: tensor<3xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<f32>) {
    %constant_1 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %constant_2 = stablehlo.broadcast_in_dim %constant_1, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %constant_3 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %constant_4 = stablehlo.broadcast_in_dim %constant_3, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %dot_5 = stablehlo.dot_general %arg0_x, %arg2_dense.weight, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
    %broadcast_6 = stablehlo.broadcast_in_dim %arg3_dense.bias, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %add_7 = stablehlo.add %dot_5, %broadcast_6 : tensor<4x3xf32>
    %mul_8 = stablehlo.multiply %add_7, %add_7 : tensor<4x3xf32>
    %constant_9 = stablehlo.constant dense<0x3F3504F3> : tensor<f32>
    %constant_10 = stablehlo.broadcast_in_dim %constant_9, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %mul_11 = stablehlo.multiply %add_7, %constant_10 : tensor<4x3xf32>
    %erf_12 = chlo.erf %mul_11 : tensor<4x3xf32> -> tensor<4x3xf32>
    %constant_13 = stablehlo.constant dense<0x3F000000> : tensor<f32>
    %constant_14 = stablehlo.broadcast_in_dim %constant_13, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %constant_15 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %constant_16 = stablehlo.broadcast_in_dim %constant_15, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %add_17 = stablehlo.add %erf_12, %constant_16 : tensor<4x3xf32>
    %mul_18 = stablehlo.multiply %add_17, %constant_14 : tensor<4x3xf32>
    %constant_19 = stablehlo.constant dense<0x3ECC422A> : tensor<f32>
    %constant_20 = stablehlo.broadcast_in_dim %constant_19, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %constant_21 = stablehlo.constant dense<0xBF000000> : tensor<f32>
    %constant_22 = stablehlo.broadcast_in_dim %constant_21, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %mul_23 = stablehlo.multiply %mul_8, %constant_22 : tensor<4x3xf32>
    %exp_24 = stablehlo.exponential %mul_23 : tensor<4x3xf32>
    %mul_25 = stablehlo.multiply %exp_24, %constant_20 : tensor<4x3xf32>
    %mul_26 = stablehlo.multiply %add_7, %mul_18 : tensor<4x3xf32>
    %mul_27 = stablehlo.multiply %add_7, %mul_25 : tensor<4x3xf32>
    %add_28 = stablehlo.add %mul_18, %mul_27 : tensor<4x3xf32>
    %mul_29 = stablehlo.multiply %constant_16, %add_28 : tensor<4x3xf32>
    %add_30 = stablehlo.add %arg0_x, %mul_26 : tensor<4x3xf32>
    %reduce_sum_31 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_32 = stablehlo.reduce(%add_30 init: %reduce_sum_31) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %constant_33 = stablehlo.constant dense<0x3EAAAAAB> : tensor<f32>
    %constant_34 = stablehlo.broadcast_in_dim %constant_33, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %mul_35 = stablehlo.multiply %reduce_sum_32, %constant_34 : tensor<4xf32>
    %reshape_36 = stablehlo.reshape %mul_35 : (tensor<4xf32>) -> tensor<4x1xf32>
    %reshape_37 = stablehlo.reshape %reshape_36 : (tensor<4x1xf32>) -> tensor<4xf32>
    %broadcast_38 = stablehlo.broadcast_in_dim %reshape_37, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %sub_39 = stablehlo.subtract %add_30, %broadcast_38 : tensor<4x3xf32>
    %mul_40 = stablehlo.multiply %sub_39, %sub_39 : tensor<4x3xf32>
    %reduce_sum_41 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_42 = stablehlo.reduce(%mul_40 init: %reduce_sum_41) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %mul_43 = stablehlo.multiply %reduce_sum_42, %constant_34 : tensor<4xf32>
    %constant_44 = stablehlo.constant dense<0x2B8CBCCC> : tensor<f32>
    %constant_45 = stablehlo.broadcast_in_dim %constant_44, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %add_46 = stablehlo.add %mul_43, %constant_45 : tensor<4xf32>
    %rsqrt_47 = stablehlo.rsqrt %add_46 : tensor<4xf32>
    %reshape_48 = stablehlo.reshape %rsqrt_47 : (tensor<4xf32>) -> tensor<4x1xf32>
    %reshape_49 = stablehlo.reshape %reshape_48 : (tensor<4x1xf32>) -> tensor<4xf32>
    %broadcast_50 = stablehlo.broadcast_in_dim %reshape_49, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %mul_51 = stablehlo.multiply %sub_39, %broadcast_50 : tensor<4x3xf32>
    %broadcast_52 = stablehlo.broadcast_in_dim %constant_2, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %mul_53 = stablehlo.multiply %mul_51, %broadcast_52 : tensor<4x3xf32>
    %broadcast_54 = stablehlo.broadcast_in_dim %constant_4, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %add_55 = stablehlo.add %mul_53, %broadcast_54 : tensor<4x3xf32>
    %mul_56 = stablehlo.multiply %add_55, %arg0_x : tensor<4x3xf32>
    %reduce_sum_57 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_58 = stablehlo.reduce(%mul_56 init: %reduce_sum_57) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
    %constant_59 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %broadcast_60 = stablehlo.broadcast_in_dim %constant_59, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %mul_61 = stablehlo.multiply %broadcast_60, %arg0_x : tensor<4x3xf32>
    %mul_62 = stablehlo.multiply %mul_61, %broadcast_52 : tensor<4x3xf32>
    %mul_63 = stablehlo.multiply %mul_62, %mul_51 : tensor<4x3xf32>
    %reduce_sum_64 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_65 = stablehlo.reduce(%mul_63 init: %reduce_sum_64) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %mul_66 = stablehlo.multiply %reduce_sum_65, %constant_34 : tensor<4xf32>
    %reshape_67 = stablehlo.reshape %mul_66 : (tensor<4xf32>) -> tensor<4x1xf32>
    %reshape_68 = stablehlo.reshape %reshape_67 : (tensor<4x1xf32>) -> tensor<4xf32>
    %broadcast_69 = stablehlo.broadcast_in_dim %reshape_68, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %mul_70 = stablehlo.multiply %mul_51, %broadcast_69 : tensor<4x3xf32>
    %reduce_sum_71 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_72 = stablehlo.reduce(%mul_62 init: %reduce_sum_71) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %mul_73 = stablehlo.multiply %reduce_sum_72, %constant_34 : tensor<4xf32>
    %reshape_74 = stablehlo.reshape %mul_73 : (tensor<4xf32>) -> tensor<4x1xf32>
    %reshape_75 = stablehlo.reshape %reshape_74 : (tensor<4x1xf32>) -> tensor<4xf32>
    %broadcast_76 = stablehlo.broadcast_in_dim %reshape_75, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %sub_77 = stablehlo.subtract %mul_62, %broadcast_76 : tensor<4x3xf32>
    %sub_78 = stablehlo.subtract %sub_77, %mul_70 : tensor<4x3xf32>
    %mul_79 = stablehlo.multiply %sub_78, %broadcast_50 : tensor<4x3xf32>
    %mul_80 = stablehlo.multiply %mul_79, %mul_29 : tensor<4x3xf32>
    %dot_81 = stablehlo.dot_general %mul_80, %arg0_x, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<3x3xf32>
    %reduce_sum_82 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_83 = stablehlo.reduce(%mul_80 init: %reduce_sum_82) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
    %constant_84 = stablehlo.constant dense<0x3DCCCCCD> : tensor<f32>
    %broadcast_85 = stablehlo.broadcast_in_dim %constant_84, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %mul_86 = stablehlo.multiply %dot_81, %broadcast_85 : tensor<3x3xf32>
    %sub_87 = stablehlo.subtract %arg2_dense.weight, %mul_86 : tensor<3x3xf32>
    %broadcast_88 = stablehlo.broadcast_in_dim %constant_84, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %mul_89 = stablehlo.multiply %reduce_sum_83, %broadcast_88 : tensor<3xf32>
    %sub_90 = stablehlo.subtract %arg3_dense.bias, %mul_89 : tensor<3xf32>
    return %sub_87, %sub_90, %reduce_sum_58 : tensor<3x3xf32>, tensor<3xf32>, tensor<f32>
  }
}
