module @headwater {
  func.func public @main(
      %arg0_x: tensor<1x4x4xf32>,
      %arg1_mask: tensor<1x4xi32>,
      %arg2_key: tensor<2xui32>) -> (tensor<1x4x4xf32>) {
    %reshape_1 = stablehlo.reshape %arg0_x : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_2 = stablehlo.transpose %reshape_1, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %dot_3 = stablehlo.convert %transpose_2 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_4 = stablehlo.convert %transpose_2 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_5 = stablehlo.dot_general %dot_3, %dot_4, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x2xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x4xf32>
    %constant_6 = stablehlo.constant dense<0x3F3504F3> : tensor<f32>
    %constant_7 = stablehlo.broadcast_in_dim %constant_6, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %mul_8 = stablehlo.multiply %dot_5, %constant_7 : tensor<1x2x4x4xf32>
    %convert_9 = stablehlo.convert %arg1_mask : (tensor<1x4xi32>) -> tensor<1x4xf32>
    %constant_10 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %constant_11 = stablehlo.broadcast_in_dim %constant_10, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
    %sub_12 = stablehlo.subtract %constant_11, %convert_9 : tensor<1x4xf32>
    %constant_13 = stablehlo.constant dense<0xC61C4000> : tensor<f32>
    %constant_14 = stablehlo.broadcast_in_dim %constant_13, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
    %mul_15 = stablehlo.multiply %sub_12, %constant_14 : tensor<1x4xf32>
    %reshape_16 = stablehlo.reshape %mul_15 : (tensor<1x4xf32>) -> tensor<1x1x1x4xf32>
    %reshape_17 = stablehlo.reshape %reshape_16 : (tensor<1x1x1x4xf32>) -> tensor<1x4xf32>
    %broadcast_18 = stablehlo.broadcast_in_dim %reshape_17, dims = [0, 3] : (tensor<1x4xf32>) -> tensor<1x2x4x4xf32>
    %add_19 = stablehlo.add %mul_8, %broadcast_18 : tensor<1x2x4x4xf32>
    %iota_20 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %iota_21 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %compare_22 = stablehlo.compare GT, %iota_21, %iota_20, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %constant_23 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %constant_24 = stablehlo.broadcast_in_dim %constant_23, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %constant_25 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %constant_26 = stablehlo.broadcast_in_dim %constant_25, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %select_27 = stablehlo.select %compare_22, %constant_26, %constant_24 : tensor<4x4xi1>, tensor<4x4xf32>
    %broadcast_28 = stablehlo.broadcast_in_dim %select_27, dims = [2, 3] : (tensor<4x4xf32>) -> tensor<1x2x4x4xf32>
    %add_29 = stablehlo.add %add_19, %broadcast_28 : tensor<1x2x4x4xf32>
    %reduce_max_30 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %reduce_max_31 = stablehlo.reduce(%add_29 init: %reduce_max_30) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
    %reshape_32 = stablehlo.reshape %reduce_max_31 : (tensor<1x2x4xf32>) -> tensor<1x2x4x1xf32>
    %reshape_33 = stablehlo.reshape %reshape_32 : (tensor<1x2x4x1xf32>) -> tensor<1x2x4xf32>
    %broadcast_34 = stablehlo.broadcast_in_dim %reshape_33, dims = [0, 1, 2] : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %sub_35 = stablehlo.subtract %add_29, %broadcast_34 : tensor<1x2x4x4xf32>
    %exp_36 = stablehlo.exponential %sub_35 : tensor<1x2x4x4xf32>
    %reduce_sum_37 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_38 = stablehlo.reduce(%exp_36 init: %reduce_sum_37) applies stablehlo.add across dimensions = [3] : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
    %reshape_39 = stablehlo.reshape %reduce_sum_38 : (tensor<1x2x4xf32>) -> tensor<1x2x4x1xf32>
    %reshape_40 = stablehlo.reshape %reshape_39 : (tensor<1x2x4x1xf32>) -> tensor<1x2x4xf32>
    %broadcast_41 = stablehlo.broadcast_in_dim %reshape_40, dims = [0, 1, 2] : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %div_42 = stablehlo.divide %exp_36, %broadcast_41 : tensor<1x2x4x4xf32>
    %log_43 = stablehlo.log %reduce_sum_38 : tensor<1x2x4xf32>
    %add_44 = stablehlo.add %log_43, %reduce_max_31 : tensor<1x2x4xf32>
    %constant_45 = stablehlo.constant dense<0> : tensor<ui32>
    %constant_46 = stablehlo.broadcast_in_dim %constant_45, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %slice_47 = stablehlo.slice %arg2_key [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %reshape_48 = stablehlo.reshape %slice_47 : (tensor<1xui32>) -> tensor<ui32>
    %broadcast_49 = stablehlo.broadcast_in_dim %reshape_48, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %slice_50 = stablehlo.slice %arg2_key [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %reshape_51 = stablehlo.reshape %slice_50 : (tensor<1xui32>) -> tensor<ui32>
    %broadcast_52 = stablehlo.broadcast_in_dim %reshape_51, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %constant_53 = stablehlo.constant dense<466688986> : tensor<ui32>
    %constant_54 = stablehlo.broadcast_in_dim %constant_53, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %bit_xor_55 = stablehlo.xor %broadcast_49, %broadcast_52 : tensor<1xui32>
    %bit_xor_56 = stablehlo.xor %bit_xor_55, %constant_54 : tensor<1xui32>
    %add_57 = stablehlo.add %constant_46, %broadcast_49 : tensor<1xui32>
    %add_58 = stablehlo.add %constant_46, %broadcast_52 : tensor<1xui32>
    %add_59 = stablehlo.add %add_57, %add_58 : tensor<1xui32>
    %constant_60 = stablehlo.constant dense<19> : tensor<ui32>
    %constant_61 = stablehlo.broadcast_in_dim %constant_60, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_62 = stablehlo.shift_right_logical %add_58, %constant_61 : tensor<1xui32>
    %constant_63 = stablehlo.constant dense<13> : tensor<ui32>
    %constant_64 = stablehlo.broadcast_in_dim %constant_63, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_left_65 = stablehlo.shift_left %add_58, %constant_64 : tensor<1xui32>
    %bit_or_66 = stablehlo.or %shift_left_65, %shift_right_62 : tensor<1xui32>
    %bit_xor_67 = stablehlo.xor %bit_or_66, %add_59 : tensor<1xui32>
    %add_68 = stablehlo.add %add_59, %bit_xor_67 : tensor<1xui32>
    %constant_69 = stablehlo.constant dense<17> : tensor<ui32>
    %constant_70 = stablehlo.broadcast_in_dim %constant_69, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_71 = stablehlo.shift_right_logical %bit_xor_67, %constant_70 : tensor<1xui32>
    %constant_72 = stablehlo.constant dense<15> : tensor<ui32>
    %constant_73 = stablehlo.broadcast_in_dim %constant_72, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_left_74 = stablehlo.shift_left %bit_xor_67, %constant_73 : tensor<1xui32>
    %bit_or_75 = stablehlo.or %shift_left_74, %shift_right_71 : tensor<1xui32>
    %bit_xor_76 = stablehlo.xor %bit_or_75, %add_68 : tensor<1xui32>
    %add_77 = stablehlo.add %add_68, %bit_xor_76 : tensor<1xui32>
    %constant_78 = stablehlo.constant dense<6> : tensor<ui32>
    %constant_79 = stablehlo.broadcast_in_dim %constant_78, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_80 = stablehlo.shift_right_logical %bit_xor_76, %constant_79 : tensor<1xui32>
    %constant_81 = stablehlo.constant dense<26> : tensor<ui32>
    %constant_82 = stablehlo.broadcast_in_dim %constant_81, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_left_83 = stablehlo.shift_left %bit_xor_76, %constant_82 : tensor<1xui32>
    %bit_or_84 = stablehlo.or %shift_left_83, %shift_right_80 : tensor<1xui32>
    %bit_xor_85 = stablehlo.xor %bit_or_84, %add_77 : tensor<1xui32>
    %add_86 = stablehlo.add %add_77, %bit_xor_85 : tensor<1xui32>
    %shift_right_87 = stablehlo.shift_right_logical %bit_xor_85, %constant_82 : tensor<1xui32>
    %shift_left_88 = stablehlo.shift_left %bit_xor_85, %constant_79 : tensor<1xui32>
    %bit_or_89 = stablehlo.or %shift_left_88, %shift_right_87 : tensor<1xui32>
    %bit_xor_90 = stablehlo.xor %bit_or_89, %add_86 : tensor<1xui32>
    %add_91 = stablehlo.add %add_86, %broadcast_52 : tensor<1xui32>
    %constant_92 = stablehlo.constant dense<1> : tensor<ui32>
    %constant_93 = stablehlo.broadcast_in_dim %constant_92, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %add_94 = stablehlo.add %bit_xor_90, %bit_xor_56 : tensor<1xui32>
    %add_95 = stablehlo.add %add_94, %constant_93 : tensor<1xui32>
    %add_96 = stablehlo.add %add_91, %add_95 : tensor<1xui32>
    %shift_right_97 = stablehlo.shift_right_logical %add_95, %constant_73 : tensor<1xui32>
    %shift_left_98 = stablehlo.shift_left %add_95, %constant_70 : tensor<1xui32>
    %bit_or_99 = stablehlo.or %shift_left_98, %shift_right_97 : tensor<1xui32>
    %bit_xor_100 = stablehlo.xor %bit_or_99, %add_96 : tensor<1xui32>
    %add_101 = stablehlo.add %add_96, %bit_xor_100 : tensor<1xui32>
    %constant_102 = stablehlo.constant dense<3> : tensor<ui32>
    %constant_103 = stablehlo.broadcast_in_dim %constant_102, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_104 = stablehlo.shift_right_logical %bit_xor_100, %constant_103 : tensor<1xui32>
    %constant_105 = stablehlo.constant dense<29> : tensor<ui32>
    %constant_106 = stablehlo.broadcast_in_dim %constant_105, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_left_107 = stablehlo.shift_left %bit_xor_100, %constant_106 : tensor<1xui32>
    %bit_or_108 = stablehlo.or %shift_left_107, %shift_right_104 : tensor<1xui32>
    %bit_xor_109 = stablehlo.xor %bit_or_108, %add_101 : tensor<1xui32>
    %add_110 = stablehlo.add %add_101, %bit_xor_109 : tensor<1xui32>
    %constant_111 = stablehlo.constant dense<16> : tensor<ui32>
    %constant_112 = stablehlo.broadcast_in_dim %constant_111, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_113 = stablehlo.shift_right_logical %bit_xor_109, %constant_112 : tensor<1xui32>
    %shift_left_114 = stablehlo.shift_left %bit_xor_109, %constant_112 : tensor<1xui32>
    %bit_or_115 = stablehlo.or %shift_left_114, %shift_right_113 : tensor<1xui32>
    %bit_xor_116 = stablehlo.xor %bit_or_115, %add_110 : tensor<1xui32>
    %add_117 = stablehlo.add %add_110, %bit_xor_116 : tensor<1xui32>
    %constant_118 = stablehlo.constant dense<8> : tensor<ui32>
    %constant_119 = stablehlo.broadcast_in_dim %constant_118, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_right_120 = stablehlo.shift_right_logical %bit_xor_116, %constant_119 : tensor<1xui32>
    %constant_121 = stablehlo.constant dense<24> : tensor<ui32>
    %constant_122 = stablehlo.broadcast_in_dim %constant_121, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %shift_left_123 = stablehlo.shift_left %bit_xor_116, %constant_122 : tensor<1xui32>
    %bit_or_124 = stablehlo.or %shift_left_123, %shift_right_120 : tensor<1xui32>
    %bit_xor_125 = stablehlo.xor %bit_or_124, %add_117 : tensor<1xui32>
    %add_126 = stablehlo.add %add_117, %bit_xor_56 : tensor<1xui32>
    %constant_127 = stablehlo.constant dense<2> : tensor<ui32>
    %constant_128 = stablehlo.broadcast_in_dim %constant_127, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %add_129 = stablehlo.add %bit_xor_125, %broadcast_49 : tensor<1xui32>
    %add_130 = stablehlo.add %add_129, %constant_128 : tensor<1xui32>
    %add_131 = stablehlo.add %add_126, %add_130 : tensor<1xui32>
    %shift_right_132 = stablehlo.shift_right_logical %add_130, %constant_61 : tensor<1xui32>
    %shift_left_133 = stablehlo.shift_left %add_130, %constant_64 : tensor<1xui32>
    %bit_or_134 = stablehlo.or %shift_left_133, %shift_right_132 : tensor<1xui32>
    %bit_xor_135 = stablehlo.xor %bit_or_134, %add_131 : tensor<1xui32>
    %add_136 = stablehlo.add %add_131, %bit_xor_135 : tensor<1xui32>
    %shift_right_137 = stablehlo.shift_right_logical %bit_xor_135, %constant_70 : tensor<1xui32>
    %shift_left_138 = stablehlo.shift_left %bit_xor_135, %constant_73 : tensor<1xui32>
    %bit_or_139 = stablehlo.or %shift_left_138, %shift_right_137 : tensor<1xui32>
    %bit_xor_140 = stablehlo.xor %bit_or_139, %add_136 : tensor<1xui32>
    %add_141 = stablehlo.add %add_136, %bit_xor_140 : tensor<1xui32>
    %shift_right_142 = stablehlo.shift_right_logical %bit_xor_140, %constant_79 : tensor<1xui32>
    %shift_left_143 = stablehlo.shift_left %bit_xor_140, %constant_82 : tensor<1xui32>
    %bit_or_144 = stablehlo.or %shift_left_143, %shift_right_142 : tensor<1xui32>
    %bit_xor_145 = stablehlo.xor %bit_or_144, %add_141 : tensor<1xui32>
    %add_146 = stablehlo.add %add_141, %bit_xor_145 : tensor<1xui32>
    %shift_right_147 = stablehlo.shift_right_logical %bit_xor_145, %constant_82 : tensor<1xui32>
    %shift_left_148 = stablehlo.shift_left %bit_xor_145, %constant_79 : tensor<1xui32>
    %bit_or_149 = stablehlo.or %shift_left_148, %shift_right_147 : tensor<1xui32>
    %bit_xor_150 = stablehlo.xor %bit_or_149, %add_146 : tensor<1xui32>
    %add_151 = stablehlo.add %add_146, %broadcast_49 : tensor<1xui32>
    %add_152 = stablehlo.add %bit_xor_150, %broadcast_52 : tensor<1xui32>
    %add_153 = stablehlo.add %add_152, %constant_103 : tensor<1xui32>
    %add_154 = stablehlo.add %add_151, %add_153 : tensor<1xui32>
    %shift_right_155 = stablehlo.shift_right_logical %add_153, %constant_73 : tensor<1xui32>
    %shift_left_156 = stablehlo.shift_left %add_153, %constant_70 : tensor<1xui32>
    %bit_or_157 = stablehlo.or %shift_left_156, %shift_right_155 : tensor<1xui32>
    %bit_xor_158 = stablehlo.xor %bit_or_157, %add_154 : tensor<1xui32>
    %add_159 = stablehlo.add %add_154, %bit_xor_158 : tensor<1xui32>
    %shift_right_160 = stablehlo.shift_right_logical %bit_xor_158, %constant_103 : tensor<1xui32>
    %shift_left_161 = stablehlo.shift_left %bit_xor_158, %constant_106 : tensor<1xui32>
    %bit_or_162 = stablehlo.or %shift_left_161, %shift_right_160 : tensor<1xui32>
    %bit_xor_163 = stablehlo.xor %bit_or_162, %add_159 : tensor<1xui32>
    %add_164 = stablehlo.add %add_159, %bit_xor_163 : tensor<1xui32>
    %shift_right_165 = stablehlo.shift_right_logical %bit_xor_163, %constant_112 : tensor<1xui32>
    %shift_left_166 = stablehlo.shift_left %bit_xor_163, %constant_112 : tensor<1xui32>
    %bit_or_167 = stablehlo.or %shift_left_166, %shift_right_165 : tensor<1xui32>
    %bit_xor_168 = stablehlo.xor %bit_or_167, %add_164 : tensor<1xui32>
    %add_169 = stablehlo.add %add_164, %bit_xor_168 : tensor<1xui32>
    %shift_right_170 = stablehlo.shift_right_logical %bit_xor_168, %constant_119 : tensor<1xui32>
    %shift_left_171 = stablehlo.shift_left %bit_xor_168, %constant_122 : tensor<1xui32>
    %bit_or_172 = stablehlo.or %shift_left_171, %shift_right_170 : tensor<1xui32>
    %bit_xor_173 = stablehlo.xor %bit_or_172, %add_169 : tensor<1xui32>
    %add_174 = stablehlo.add %add_169, %broadcast_52 : tensor<1xui32>
    %constant_175 = stablehlo.constant dense<4> : tensor<ui32>
    %constant_176 = stablehlo.broadcast_in_dim %constant_175, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %add_177 = stablehlo.add %bit_xor_173, %bit_xor_56 : tensor<1xui32>
    %add_178 = stablehlo.add %add_177, %constant_176 : tensor<1xui32>
    %add_179 = stablehlo.add %add_174, %add_178 : tensor<1xui32>
    %shift_right_180 = stablehlo.shift_right_logical %add_178, %constant_61 : tensor<1xui32>
    %shift_left_181 = stablehlo.shift_left %add_178, %constant_64 : tensor<1xui32>
    %bit_or_182 = stablehlo.or %shift_left_181, %shift_right_180 : tensor<1xui32>
    %bit_xor_183 = stablehlo.xor %bit_or_182, %add_179 : tensor<1xui32>
    %add_184 = stablehlo.add %add_179, %bit_xor_183 : tensor<1xui32>
    %shift_right_185 = stablehlo.shift_right_logical %bit_xor_183, %constant_70 : tensor<1xui32>
    %shift_left_186 = stablehlo.shift_left %bit_xor_183, %constant_73 : tensor<1xui32>
    %bit_or_187 = stablehlo.or %shift_left_186, %shift_right_185 : tensor<1xui32>
    %bit_xor_188 = stablehlo.xor %bit_or_187, %add_184 : tensor<1xui32>
    %add_189 = stablehlo.add %add_184, %bit_xor_188 : tensor<1xui32>
    %shift_right_190 = stablehlo.shift_right_logical %bit_xor_188, %constant_79 : tensor<1xui32>
    %shift_left_191 = stablehlo.shift_left %bit_xor_188, %constant_82 : tensor<1xui32>
    %bit_or_192 = stablehlo.or %shift_left_191, %shift_right_190 : tensor<1xui32>
    %bit_xor_193 = stablehlo.xor %bit_or_192, %add_189 : tensor<1xui32>
    %add_194 = stablehlo.add %add_189, %bit_xor_193 : tensor<1xui32>
    %shift_right_195 = stablehlo.shift_right_logical %bit_xor_193, %constant_82 : tensor<1xui32>
    %shift_left_196 = stablehlo.shift_left %bit_xor_193, %constant_79 : tensor<1xui32>
    %bit_or_197 = stablehlo.or %shift_left_196, %shift_right_195 : tensor<1xui32>
    %bit_xor_198 = stablehlo.xor %bit_or_197, %add_194 : tensor<1xui32>
    %add_199 = stablehlo.add %add_194, %bit_xor_56 : tensor<1xui32>
    %constant_200 = stablehlo.constant dense<5> : tensor<ui32>
    %constant_201 = stablehlo.broadcast_in_dim %constant_200, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %add_202 = stablehlo.add %bit_xor_198, %broadcast_49 : tensor<1xui32>
    %add_203 = stablehlo.add %add_202, %constant_201 : tensor<1xui32>
    %concat_204 = stablehlo.concatenate %add_199, %add_203, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> tensor<2xui32>
    %replica_id_205 = stablehlo.replica_id : tensor<ui32>
    %constant_206 = stablehlo.constant dense<16> : tensor<ui32>
    %constant_207 = stablehlo.constant dense<0> : tensor<ui32>
    %mul_208 = stablehlo.multiply %replica_id_205, %constant_207 : tensor<ui32>
    %constant_209 = stablehlo.constant dense<32> : tensor<ui32>
    %mul_210 = stablehlo.multiply %replica_id_205, %constant_209 : tensor<ui32>
    %shift_left_211 = stablehlo.shift_left %mul_208, %constant_206 : tensor<ui32>
    %add_212 = stablehlo.add %shift_left_211, %mul_210 : tensor<ui32>
    %compare_213 = stablehlo.compare LT, %add_212, %mul_210, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %convert_214 = stablehlo.convert %compare_213 : (tensor<i1>) -> tensor<ui32>
    %shift_right_215 = stablehlo.shift_right_logical %mul_208, %constant_206 : tensor<ui32>
    %add_216 = stablehlo.add %shift_right_215, %convert_214 : tensor<ui32>
    %iota_217 = stablehlo.iota dim = 0 : tensor<32xui32>
    %broadcast_218 = stablehlo.broadcast_in_dim %add_212, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_219 = stablehlo.add %iota_217, %broadcast_218 : tensor<32xui32>
    %compare_220 = stablehlo.compare LT, %add_219, %broadcast_218, UNSIGNED : (tensor<32xui32>, tensor<32xui32>) -> tensor<32xi1>
    %convert_221 = stablehlo.convert %compare_220 : (tensor<32xi1>) -> tensor<32xui32>
    %broadcast_222 = stablehlo.broadcast_in_dim %add_216, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_223 = stablehlo.add %convert_221, %broadcast_222 : tensor<32xui32>
    %slice_224 = stablehlo.slice %concat_204 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %reshape_225 = stablehlo.reshape %slice_224 : (tensor<1xui32>) -> tensor<ui32>
    %broadcast_226 = stablehlo.broadcast_in_dim %reshape_225, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %slice_227 = stablehlo.slice %concat_204 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %reshape_228 = stablehlo.reshape %slice_227 : (tensor<1xui32>) -> tensor<ui32>
    %broadcast_229 = stablehlo.broadcast_in_dim %reshape_228, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %constant_230 = stablehlo.constant dense<466688986> : tensor<ui32>
    %constant_231 = stablehlo.broadcast_in_dim %constant_230, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %bit_xor_232 = stablehlo.xor %broadcast_226, %broadcast_229 : tensor<32xui32>
    %bit_xor_233 = stablehlo.xor %bit_xor_232, %constant_231 : tensor<32xui32>
    %add_234 = stablehlo.add %add_223, %broadcast_226 : tensor<32xui32>
    %add_235 = stablehlo.add %add_219, %broadcast_229 : tensor<32xui32>
    %add_236 = stablehlo.add %add_234, %add_235 : tensor<32xui32>
    %constant_237 = stablehlo.constant dense<19> : tensor<ui32>
    %constant_238 = stablehlo.broadcast_in_dim %constant_237, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_239 = stablehlo.shift_right_logical %add_235, %constant_238 : tensor<32xui32>
    %constant_240 = stablehlo.constant dense<13> : tensor<ui32>
    %constant_241 = stablehlo.broadcast_in_dim %constant_240, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_left_242 = stablehlo.shift_left %add_235, %constant_241 : tensor<32xui32>
    %bit_or_243 = stablehlo.or %shift_left_242, %shift_right_239 : tensor<32xui32>
    %bit_xor_244 = stablehlo.xor %bit_or_243, %add_236 : tensor<32xui32>
    %add_245 = stablehlo.add %add_236, %bit_xor_244 : tensor<32xui32>
    %constant_246 = stablehlo.constant dense<17> : tensor<ui32>
    %constant_247 = stablehlo.broadcast_in_dim %constant_246, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_248 = stablehlo.shift_right_logical %bit_xor_244, %constant_247 : tensor<32xui32>
    %constant_249 = stablehlo.constant dense<15> : tensor<ui32>
    %constant_250 = stablehlo.broadcast_in_dim %constant_249, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_left_251 = stablehlo.shift_left %bit_xor_244, %constant_250 : tensor<32xui32>
    %bit_or_252 = stablehlo.or %shift_left_251, %shift_right_248 : tensor<32xui32>
    %bit_xor_253 = stablehlo.xor %bit_or_252, %add_245 : tensor<32xui32>
    %add_254 = stablehlo.add %add_245, %bit_xor_253 : tensor<32xui32>
    %constant_255 = stablehlo.constant dense<6> : tensor<ui32>
    %constant_256 = stablehlo.broadcast_in_dim %constant_255, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_257 = stablehlo.shift_right_logical %bit_xor_253, %constant_256 : tensor<32xui32>
    %constant_258 = stablehlo.constant dense<26> : tensor<ui32>
    %constant_259 = stablehlo.broadcast_in_dim %constant_258, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_left_260 = stablehlo.shift_left %bit_xor_253, %constant_259 : tensor<32xui32>
    %bit_or_261 = stablehlo.or %shift_left_260, %shift_right_257 : tensor<32xui32>
    %bit_xor_262 = stablehlo.xor %bit_or_261, %add_254 : tensor<32xui32>
    %add_263 = stablehlo.add %add_254, %bit_xor_262 : tensor<32xui32>
    %shift_right_264 = stablehlo.shift_right_logical %bit_xor_262, %constant_259 : tensor<32xui32>
    %shift_left_265 = stablehlo.shift_left %bit_xor_262, %constant_256 : tensor<32xui32>
    %bit_or_266 = stablehlo.or %shift_left_265, %shift_right_264 : tensor<32xui32>
    %bit_xor_267 = stablehlo.xor %bit_or_266, %add_263 : tensor<32xui32>
    %add_268 = stablehlo.add %add_263, %broadcast_229 : tensor<32xui32>
    %constant_269 = stablehlo.constant dense<1> : tensor<ui32>
    %constant_270 = stablehlo.broadcast_in_dim %constant_269, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_271 = stablehlo.add %bit_xor_267, %bit_xor_233 : tensor<32xui32>
    %add_272 = stablehlo.add %add_271, %constant_270 : tensor<32xui32>
    %add_273 = stablehlo.add %add_268, %add_272 : tensor<32xui32>
    %shift_right_274 = stablehlo.shift_right_logical %add_272, %constant_250 : tensor<32xui32>
    %shift_left_275 = stablehlo.shift_left %add_272, %constant_247 : tensor<32xui32>
    %bit_or_276 = stablehlo.or %shift_left_275, %shift_right_274 : tensor<32xui32>
    %bit_xor_277 = stablehlo.xor %bit_or_276, %add_273 : tensor<32xui32>
    %add_278 = stablehlo.add %add_273, %bit_xor_277 : tensor<32xui32>
    %constant_279 = stablehlo.constant dense<3> : tensor<ui32>
    %constant_280 = stablehlo.broadcast_in_dim %constant_279, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_281 = stablehlo.shift_right_logical %bit_xor_277, %constant_280 : tensor<32xui32>
    %constant_282 = stablehlo.constant dense<29> : tensor<ui32>
    %constant_283 = stablehlo.broadcast_in_dim %constant_282, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_left_284 = stablehlo.shift_left %bit_xor_277, %constant_283 : tensor<32xui32>
    %bit_or_285 = stablehlo.or %shift_left_284, %shift_right_281 : tensor<32xui32>
    %bit_xor_286 = stablehlo.xor %bit_or_285, %add_278 : tensor<32xui32>
    %add_287 = stablehlo.add %add_278, %bit_xor_286 : tensor<32xui32>
    %constant_288 = stablehlo.constant dense<16> : tensor<ui32>
    %constant_289 = stablehlo.broadcast_in_dim %constant_288, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_290 = stablehlo.shift_right_logical %bit_xor_286, %constant_289 : tensor<32xui32>
    %shift_left_291 = stablehlo.shift_left %bit_xor_286, %constant_289 : tensor<32xui32>
    %bit_or_292 = stablehlo.or %shift_left_291, %shift_right_290 : tensor<32xui32>
    %bit_xor_293 = stablehlo.xor %bit_or_292, %add_287 : tensor<32xui32>
    %add_294 = stablehlo.add %add_287, %bit_xor_293 : tensor<32xui32>
    %constant_295 = stablehlo.constant dense<8> : tensor<ui32>
    %constant_296 = stablehlo.broadcast_in_dim %constant_295, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_right_297 = stablehlo.shift_right_logical %bit_xor_293, %constant_296 : tensor<32xui32>
    %constant_298 = stablehlo.constant dense<24> : tensor<ui32>
    %constant_299 = stablehlo.broadcast_in_dim %constant_298, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %shift_left_300 = stablehlo.shift_left %bit_xor_293, %constant_299 : tensor<32xui32>
    %bit_or_301 = stablehlo.or %shift_left_300, %shift_right_297 : tensor<32xui32>
    %bit_xor_302 = stablehlo.xor %bit_or_301, %add_294 : tensor<32xui32>
    %add_303 = stablehlo.add %add_294, %bit_xor_233 : tensor<32xui32>
    %constant_304 = stablehlo.constant dense<2> : tensor<ui32>
    %constant_305 = stablehlo.broadcast_in_dim %constant_304, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_306 = stablehlo.add %bit_xor_302, %broadcast_226 : tensor<32xui32>
    %add_307 = stablehlo.add %add_306, %constant_305 : tensor<32xui32>
    %add_308 = stablehlo.add %add_303, %add_307 : tensor<32xui32>
    %shift_right_309 = stablehlo.shift_right_logical %add_307, %constant_238 : tensor<32xui32>
    %shift_left_310 = stablehlo.shift_left %add_307, %constant_241 : tensor<32xui32>
    %bit_or_311 = stablehlo.or %shift_left_310, %shift_right_309 : tensor<32xui32>
    %bit_xor_312 = stablehlo.xor %bit_or_311, %add_308 : tensor<32xui32>
    %add_313 = stablehlo.add %add_308, %bit_xor_312 : tensor<32xui32>
    %shift_right_314 = stablehlo.shift_right_logical %bit_xor_312, %constant_247 : tensor<32xui32>
    %shift_left_315 = stablehlo.shift_left %bit_xor_312, %constant_250 : tensor<32xui32>
    %bit_or_316 = stablehlo.or %shift_left_315, %shift_right_314 : tensor<32xui32>
    %bit_xor_317 = stablehlo.xor %bit_or_316, %add_313 : tensor<32xui32>
    %add_318 = stablehlo.add %add_313, %bit_xor_317 : tensor<32xui32>
    %shift_right_319 = stablehlo.shift_right_logical %bit_xor_317, %constant_256 : tensor<32xui32>
    %shift_left_320 = stablehlo.shift_left %bit_xor_317, %constant_259 : tensor<32xui32>
    %bit_or_321 = stablehlo.or %shift_left_320, %shift_right_319 : tensor<32xui32>
    %bit_xor_322 = stablehlo.xor %bit_or_321, %add_318 : tensor<32xui32>
    %add_323 = stablehlo.add %add_318, %bit_xor_322 : tensor<32xui32>
    %shift_right_324 = stablehlo.shift_right_logical %bit_xor_322, %constant_259 : tensor<32xui32>
    %shift_left_325 = stablehlo.shift_left %bit_xor_322, %constant_256 : tensor<32xui32>
    %bit_or_326 = stablehlo.or %shift_left_325, %shift_right_324 : tensor<32xui32>
    %bit_xor_327 = stablehlo.xor %bit_or_326, %add_323 : tensor<32xui32>
    %add_328 = stablehlo.add %add_323, %broadcast_226 : tensor<32xui32>
    %add_329 = stablehlo.add %bit_xor_327, %broadcast_229 : tensor<32xui32>
    %add_330 = stablehlo.add %add_329, %constant_280 : tensor<32xui32>
    %add_331 = stablehlo.add %add_328, %add_330 : tensor<32xui32>
    %shift_right_332 = stablehlo.shift_right_logical %add_330, %constant_250 : tensor<32xui32>
    %shift_left_333 = stablehlo.shift_left %add_330, %constant_247 : tensor<32xui32>
    %bit_or_334 = stablehlo.or %shift_left_333, %shift_right_332 : tensor<32xui32>
    %bit_xor_335 = stablehlo.xor %bit_or_334, %add_331 : tensor<32xui32>
    %add_336 = stablehlo.add %add_331, %bit_xor_335 : tensor<32xui32>
    %shift_right_337 = stablehlo.shift_right_logical %bit_xor_335, %constant_280 : tensor<32xui32>
    %shift_left_338 = stablehlo.shift_left %bit_xor_335, %constant_283 : tensor<32xui32>
    %bit_or_339 = stablehlo.or %shift_left_338, %shift_right_337 : tensor<32xui32>
    %bit_xor_340 = stablehlo.xor %bit_or_339, %add_336 : tensor<32xui32>
    %add_341 = stablehlo.add %add_336, %bit_xor_340 : tensor<32xui32>
    %shift_right_342 = stablehlo.shift_right_logical %bit_xor_340, %constant_289 : tensor<32xui32>
    %shift_left_343 = stablehlo.shift_left %bit_xor_340, %constant_289 : tensor<32xui32>
    %bit_or_344 = stablehlo.or %shift_left_343, %shift_right_342 : tensor<32xui32>
    %bit_xor_345 = stablehlo.xor %bit_or_344, %add_341 : tensor<32xui32>
    %add_346 = stablehlo.add %add_341, %bit_xor_345 : tensor<32xui32>
    %shift_right_347 = stablehlo.shift_right_logical %bit_xor_345, %constant_296 : tensor<32xui32>
    %shift_left_348 = stablehlo.shift_left %bit_xor_345, %constant_299 : tensor<32xui32>
    %bit_or_349 = stablehlo.or %shift_left_348, %shift_right_347 : tensor<32xui32>
    %bit_xor_350 = stablehlo.xor %bit_or_349, %add_346 : tensor<32xui32>
    %add_351 = stablehlo.add %add_346, %broadcast_229 : tensor<32xui32>
    %constant_352 = stablehlo.constant dense<4> : tensor<ui32>
    %constant_353 = stablehlo.broadcast_in_dim %constant_352, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_354 = stablehlo.add %bit_xor_350, %bit_xor_233 : tensor<32xui32>
    %add_355 = stablehlo.add %add_354, %constant_353 : tensor<32xui32>
    %add_356 = stablehlo.add %add_351, %add_355 : tensor<32xui32>
    %shift_right_357 = stablehlo.shift_right_logical %add_355, %constant_238 : tensor<32xui32>
    %shift_left_358 = stablehlo.shift_left %add_355, %constant_241 : tensor<32xui32>
    %bit_or_359 = stablehlo.or %shift_left_358, %shift_right_357 : tensor<32xui32>
    %bit_xor_360 = stablehlo.xor %bit_or_359, %add_356 : tensor<32xui32>
    %add_361 = stablehlo.add %add_356, %bit_xor_360 : tensor<32xui32>
    %shift_right_362 = stablehlo.shift_right_logical %bit_xor_360, %constant_247 : tensor<32xui32>
    %shift_left_363 = stablehlo.shift_left %bit_xor_360, %constant_250 : tensor<32xui32>
    %bit_or_364 = stablehlo.or %shift_left_363, %shift_right_362 : tensor<32xui32>
    %bit_xor_365 = stablehlo.xor %bit_or_364, %add_361 : tensor<32xui32>
    %add_366 = stablehlo.add %add_361, %bit_xor_365 : tensor<32xui32>
    %shift_right_367 = stablehlo.shift_right_logical %bit_xor_365, %constant_256 : tensor<32xui32>
    %shift_left_368 = stablehlo.shift_left %bit_xor_365, %constant_259 : tensor<32xui32>
    %bit_or_369 = stablehlo.or %shift_left_368, %shift_right_367 : tensor<32xui32>
    %bit_xor_370 = stablehlo.xor %bit_or_369, %add_366 : tensor<32xui32>
    %add_371 = stablehlo.add %add_366, %bit_xor_370 : tensor<32xui32>
    %shift_right_372 = stablehlo.shift_right_logical %bit_xor_370, %constant_259 : tensor<32xui32>
    %shift_left_373 = stablehlo.shift_left %bit_xor_370, %constant_256 : tensor<32xui32>
    %bit_or_374 = stablehlo.or %shift_left_373, %shift_right_372 : tensor<32xui32>
    %bit_xor_375 = stablehlo.xor %bit_or_374, %add_371 : tensor<32xui32>
    %add_376 = stablehlo.add %add_371, %bit_xor_233 : tensor<32xui32>
    %constant_377 = stablehlo.constant dense<5> : tensor<ui32>
    %constant_378 = stablehlo.broadcast_in_dim %constant_377, dims = [] : (tensor<ui32>) -> tensor<32xui32>
    %add_379 = stablehlo.add %bit_xor_375, %broadcast_226 : tensor<32xui32>
    %add_380 = stablehlo.add %add_379, %constant_378 : tensor<32xui32>
    %bit_xor_381 = stablehlo.xor %add_376, %add_380 : tensor<32xui32>
    %reshape_382 = stablehlo.reshape %bit_xor_381 : (tensor<32xui32>) -> tensor<1x2x4x4xui32>
    %constant_383 = stablehlo.constant dense<9> : tensor<ui32>
    %constant_384 = stablehlo.broadcast_in_dim %constant_383, dims = [] : (tensor<ui32>) -> tensor<1x2x4x4xui32>
    %shift_right_385 = stablehlo.shift_right_logical %reshape_382, %constant_384 : tensor<1x2x4x4xui32>
    %convert_386 = stablehlo.convert %shift_right_385 : (tensor<1x2x4x4xui32>) -> tensor<1x2x4x4xf32>
    %constant_387 = stablehlo.constant dense<0x34000000> : tensor<f32>
    %constant_388 = stablehlo.broadcast_in_dim %constant_387, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %mul_389 = stablehlo.multiply %convert_386, %constant_388 : tensor<1x2x4x4xf32>
    %constant_390 = stablehlo.constant dense<0x3F666666> : tensor<f32>
    %constant_391 = stablehlo.broadcast_in_dim %constant_390, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %compare_392 = stablehlo.compare LT, %mul_389, %constant_391, FLOAT : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xi1>
    %constant_393 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %constant_394 = stablehlo.broadcast_in_dim %constant_393, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %constant_395 = stablehlo.constant dense<0x3F8E38E4> : tensor<f32>
    %constant_396 = stablehlo.broadcast_in_dim %constant_395, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %mul_397 = stablehlo.multiply %div_42, %constant_396 : tensor<1x2x4x4xf32>
    %select_398 = stablehlo.select %compare_392, %mul_397, %constant_394 : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
    %dot_399 = stablehlo.convert %select_398 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xbf16>
    %dot_400 = stablehlo.convert %transpose_2 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_401 = stablehlo.dot_general %dot_399, %dot_400, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x4xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
    %transpose_402 = stablehlo.transpose %dot_401, dims = [0, 2, 1, 3] : (tensor<1x2x4x2xf32>) -> tensor<1x4x2x2xf32>
    %reshape_403 = stablehlo.reshape %transpose_402 : (tensor<1x4x2x2xf32>) -> tensor<1x4x4xf32>
    %constant_404 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %broadcast_405 = stablehlo.broadcast_in_dim %constant_404, dims = [] : (tensor<f32>) -> tensor<1x4x4xf32>
    %barrier_406:7 = stablehlo.optimization_barrier %arg0_x, %arg0_x, %arg0_x, %arg1_mask, %reshape_403, %add_44, %broadcast_405 : tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4xi32>, tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x4x4xf32>
    %reshape_407 = stablehlo.reshape %barrier_406#0 : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_408 = stablehlo.transpose %reshape_407, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %reshape_409 = stablehlo.reshape %barrier_406#1 : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_410 = stablehlo.transpose %reshape_409, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %reshape_411 = stablehlo.reshape %barrier_406#2 : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_412 = stablehlo.transpose %reshape_411, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %reshape_413 = stablehlo.reshape %barrier_406#4 : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_414 = stablehlo.transpose %reshape_413, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %reshape_415 = stablehlo.reshape %barrier_406#6 : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %transpose_416 = stablehlo.transpose %reshape_415, dims = [0, 2, 1, 3] : (tensor<1x4x2x2xf32>) -> tensor<1x2x4x2xf32>
    %dot_417 = stablehlo.convert %transpose_408 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_418 = stablehlo.convert %transpose_410 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_419 = stablehlo.dot_general %dot_417, %dot_418, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x2xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x4xf32>
    %mul_420 = stablehlo.multiply %dot_419, %constant_7 : tensor<1x2x4x4xf32>
    %convert_421 = stablehlo.convert %barrier_406#3 : (tensor<1x4xi32>) -> tensor<1x4xf32>
    %sub_422 = stablehlo.subtract %constant_11, %convert_421 : tensor<1x4xf32>
    %mul_423 = stablehlo.multiply %sub_422, %constant_14 : tensor<1x4xf32>
    %reshape_424 = stablehlo.reshape %mul_423 : (tensor<1x4xf32>) -> tensor<1x1x1x4xf32>
    %reshape_425 = stablehlo.reshape %reshape_424 : (tensor<1x1x1x4xf32>) -> tensor<1x4xf32>
    %broadcast_426 = stablehlo.broadcast_in_dim %reshape_425, dims = [0, 3] : (tensor<1x4xf32>) -> tensor<1x2x4x4xf32>
    %add_427 = stablehlo.add %mul_420, %broadcast_426 : tensor<1x2x4x4xf32>
    %add_428 = stablehlo.add %add_427, %broadcast_28 : tensor<1x2x4x4xf32>
    %reshape_429 = stablehlo.reshape %barrier_406#5 : (tensor<1x2x4xf32>) -> tensor<1x2x4x1xf32>
    %reshape_430 = stablehlo.reshape %reshape_429 : (tensor<1x2x4x1xf32>) -> tensor<1x2x4xf32>
    %broadcast_431 = stablehlo.broadcast_in_dim %reshape_430, dims = [0, 1, 2] : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %sub_432 = stablehlo.subtract %add_428, %broadcast_431 : tensor<1x2x4x4xf32>
    %exp_433 = stablehlo.exponential %sub_432 : tensor<1x2x4x4xf32>
    %mul_434 = stablehlo.multiply %transpose_414, %transpose_416 : tensor<1x2x4x2xf32>
    %reduce_sum_435 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %reduce_sum_436 = stablehlo.reduce(%mul_434 init: %reduce_sum_435) applies stablehlo.add across dimensions = [3] : (tensor<1x2x4x2xf32>, tensor<f32>) -> tensor<1x2x4xf32>
    %reshape_437 = stablehlo.reshape %reduce_sum_436 : (tensor<1x2x4xf32>) -> tensor<1x2x4x1xf32>
    %dot_438 = stablehlo.convert %transpose_416 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_439 = stablehlo.convert %transpose_412 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_440 = stablehlo.dot_general %dot_438, %dot_439, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x2xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x4xf32>
    %mul_441 = stablehlo.multiply %dot_440, %constant_396 : tensor<1x2x4x4xf32>
    %select_442 = stablehlo.select %compare_392, %mul_441, %constant_394 : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
    %reshape_443 = stablehlo.reshape %reshape_437 : (tensor<1x2x4x1xf32>) -> tensor<1x2x4xf32>
    %broadcast_444 = stablehlo.broadcast_in_dim %reshape_443, dims = [0, 1, 2] : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %sub_445 = stablehlo.subtract %select_442, %broadcast_444 : tensor<1x2x4x4xf32>
    %constant_446 = stablehlo.constant dense<0x3F3504F3> : tensor<f32>
    %constant_447 = stablehlo.broadcast_in_dim %constant_446, dims = [] : (tensor<f32>) -> tensor<1x2x4x2xf32>
    %mul_448 = stablehlo.multiply %exp_433, %sub_445 : tensor<1x2x4x4xf32>
    %dot_449 = stablehlo.convert %mul_448 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xbf16>
    %dot_450 = stablehlo.convert %transpose_410 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_451 = stablehlo.dot_general %dot_449, %dot_450, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x4xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
    %mul_452 = stablehlo.multiply %dot_451, %constant_447 : tensor<1x2x4x2xf32>
    %transpose_453 = stablehlo.transpose %mul_452, dims = [0, 2, 1, 3] : (tensor<1x2x4x2xf32>) -> tensor<1x4x2x2xf32>
    %reshape_454 = stablehlo.reshape %transpose_453 : (tensor<1x4x2x2xf32>) -> tensor<1x4x4xf32>
    %dot_455 = stablehlo.convert %mul_448 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xbf16>
    %dot_456 = stablehlo.convert %transpose_408 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_457 = stablehlo.dot_general %dot_455, %dot_456, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x4xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
    %mul_458 = stablehlo.multiply %dot_457, %constant_447 : tensor<1x2x4x2xf32>
    %transpose_459 = stablehlo.transpose %mul_458, dims = [0, 2, 1, 3] : (tensor<1x2x4x2xf32>) -> tensor<1x4x2x2xf32>
    %reshape_460 = stablehlo.reshape %transpose_459 : (tensor<1x4x2x2xf32>) -> tensor<1x4x4xf32>
    %mul_461 = stablehlo.multiply %exp_433, %constant_396 : tensor<1x2x4x4xf32>
    %select_462 = stablehlo.select %compare_392, %mul_461, %constant_394 : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
    %dot_463 = stablehlo.convert %select_462 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xbf16>
    %dot_464 = stablehlo.convert %transpose_416 : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xbf16>
    %dot_465 = stablehlo.dot_general %dot_463, %dot_464, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x2x4x4xbf16>, tensor<1x2x4x2xbf16>) -> tensor<1x2x4x2xf32>
    %transpose_466 = stablehlo.transpose %dot_465, dims = [0, 2, 1, 3] : (tensor<1x2x4x2xf32>) -> tensor<1x4x2x2xf32>
    %reshape_467 = stablehlo.reshape %transpose_466 : (tensor<1x4x2x2xf32>) -> tensor<1x4x4xf32>
    %add_468 = stablehlo.add %reshape_454, %reshape_460 : tensor<1x4x4xf32>
    %add_469 = stablehlo.add %add_468, %reshape_467 : tensor<1x4x4xf32>
    %all_reduce_470 = "stablehlo.all_reduce"(%add_469) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 470, type = 0>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
    return %all_reduce_470 : tensor<1x4x4xf32>
  }
}
