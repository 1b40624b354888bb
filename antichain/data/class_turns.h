// Examples that are drawn one by one when they are taken, of classes that take turns.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "antichain/data/dataset.h"

namespace antichain::data {

class ClassTurns : public Dataset {
 public:
  std::int64_t size() const final { return size_; }
  Batch take(std::span<const std::int64_t> numbers) const final {
    check_numbers(numbers);
    Shape shape = shape_;
    shape.insert(shape.begin(), static_cast<std::int64_t>(numbers.size()));
    const Tensor x = Tensor::empty(f32, shape), y = Tensor::empty(i64, {shape[0]});
    float* values = x.data<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i, values += numel(shape_)) {
      const std::int64_t example = first_ + numbers[i];
      y.data<std::int64_t>()[i] = example % classes_;
      draw(example, example % classes_, values);
    }
    return {{"x", x}, {"y", y}};
  }

 protected:
  /// Makes the examples first ... first + size - 1 of all.
  ClassTurns(Shape shape, std::int64_t classes, std::int64_t first, std::int64_t size)
      : shape_(std::move(shape)), classes_(classes), first_(first), size_(size) {}

 private:
  virtual void draw(std::int64_t example, std::int64_t label, float* values) const = 0;

  Shape shape_;  // of an example
  std::int64_t classes_, first_, size_;
};

}  // namespace antichain::data
