// The datasets of an HDF5 file, as far as Keras writes such: groups of the first version, plain
// numbers, stored in one piece (docs/formats/keras-h5.md). So every dataset is a part of the mapped
// file.
//
// Own code instead of libhdf5: that is made for files one trusts, and damaged ones crash it. What
// Keras does not write (chunks, filters, newer groups) is an error that names it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "checkpoints/element_type.h"

namespace headwater {

struct Hdf5Dataset {
  std::string path;  // "group/group/name", without a leading slash
  ElementType type = ElementType::kF32;
  Shape shape;
  std::span<const uint8_t> bytes;  // of the file, row-major
};

struct Hdf5Content {
  std::vector<Hdf5Dataset> datasets;  // by path
  std::vector<std::string> left_out;  // paths of datasets that are no arrays of numbers
};

Result<Hdf5Content> read_hdf5(std::span<const uint8_t> file);

}  // namespace headwater
