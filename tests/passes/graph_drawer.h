// GraphDrawer: the values that a random graph has so far, and how the next one is chosen.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "antichain/graph/graph.h"
#include "tests/passes/random_graph.h"

namespace antichain {

class GraphDrawer {
 public:
  /// Draws with this seed; `sizes` are those of the runs to come, by symbol.
  GraphDrawer(Graph& graph, std::uint32_t seed, std::vector<DimEnv> sizes);

  Graph& graph() { return graph_; }
  const std::vector<DimEnv>& sizes() const { return sizes_; }

  /// Draws a number below `count`, the same with every standard library.
  std::size_t below(std::size_t count) { return random_() % count; }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

  using Condition = std::function<bool(const DrawnValue&)>;
  /// Picks a value that meets the condition, later ones more often; none when there is none.
  std::optional<DrawnValue> pick(const Condition& condition);
  std::optional<DrawnValue> pick_float(int min_rank = 0);
  /// Picks a value of the same type that may be combined with `value` element by element.
  std::optional<DrawnValue> pick_partner(const DrawnValue& value);

  /// Adds a value computed from others; scales it down when its bound is too large for what follows
  /// and leaves it out when it has too many elements. `exact`: the op rounds nothing.
  void keep(Var var, double bound, const std::vector<DrawnValue>& from, bool exact = false);
  const std::vector<DrawnValue>& values() const { return values_; }

  /// Returns the number of elements that such a shape has in the run where it is largest.
  double largest(const Dims& shape) const;
  /// Returns whether an axis has at least `size` elements in every run.
  bool has_size(Var var, int axis, std::int64_t size) const;

  /// Lets values be drawn in the region that is open, from `params` and some of the values outside;
  /// forgets them at its end.
  class Body {
   public:
    Body(GraphDrawer& drawer, const std::vector<DrawnValue>& params);
    ~Body() { drawer_.values_ = std::move(outside_); }
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;

   private:
    GraphDrawer& drawer_;
    std::vector<DrawnValue> outside_;
  };

 private:
  Graph& graph_;
  std::mt19937 random_;
  std::vector<DimEnv> sizes_;
  std::vector<DrawnValue> values_;
};

bool is_float(Var var);

/// Adds one op, or a few, of some family; returns false when no value fits.
using DrawFunction = bool (*)(GraphDrawer&);
struct DrawFamily {
  DrawFunction draw;
  std::size_t weight;  // how often, relative to the others
};

/// Draws from the families until one has added something.
void draw_op(GraphDrawer& drawer, const std::vector<DrawFamily>& families);

/// Lists what also goes into the body of a chain: element-wise ops and the like.
std::vector<DrawFamily> elementwise_draws();
/// Lists ops that reduce, multiply matrices, normalise or move elements.
std::vector<DrawFamily> array_draws();
/// Lists reductions of rows that are broadcast back.
std::vector<DrawFamily> row_draws();
/// Lists ops with bodies.
std::vector<DrawFamily> region_draws();

}  // namespace antichain
