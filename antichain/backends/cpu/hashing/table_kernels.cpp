// hash_tables: a counting sort per table, by one thread each.
#include <algorithm>

#include "antichain/backends/cpu/hashing/hashing_kernels.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/hashing/hash_tables.h"
#include "antichain/ops/state/update_ops.h"

namespace antichain::cpu {

namespace {

class TableSort {
 public:
  explicit TableSort(const KernelContext& context)
      : num_codes_(context.attr<std::int64_t>("num_codes")),
        bucket_(context.attr<std::int64_t>("bucket")),
        reservoir_(context.attr<std::string>("policy") == "reservoir") {}

  void run(const KernelContext& context, const Tensor& starts, const Tensor& ids) const {
    const std::int64_t tables = context.in(0).shape()[0], rows = context.in(0).shape()[1];
    const std::int32_t* const codes = context.in(0).data<std::int32_t>();
    parallel_tasks(tables, [&](std::int64_t table) {
      sort(context, table, {codes + table * rows, static_cast<std::size_t>(rows)},
           starts.data<std::int32_t>() + table * (num_codes_ + 1),
           ids.data<std::int32_t>() + table * rows);
    });
  }

 private:
  // `starts` counts, then says where the next id of a code goes, and ends as it should.
  void sort(const KernelContext& context, std::int64_t table, std::span<const std::int32_t> codes,
            std::int32_t* starts, std::int32_t* ids) const {
    std::fill_n(starts, num_codes_ + 1, 0);
    bool inside = true;
    for (const std::int32_t code : codes) {
      const bool is_code = code >= 0 && code < num_codes_;
      inside &= is_code;
      ++starts[is_code ? code : 0];
    }
    require<DataError>(inside, "{}: a code is outside of the {} that there are", context.where,
                       num_codes_);
    bool fits = true;
    std::int32_t next = 0;
    for (std::int64_t code = 0; code <= num_codes_; ++code) {
      fits &= starts[code] <= bucket_;
      next += std::exchange(starts[code], next);
    }
    for (std::size_t id = 0; id < codes.size(); ++id) {
      ids[starts[codes[id]]++] = static_cast<std::int32_t>(id);
    }
    std::copy_backward(starts, starts + num_codes_, starts + num_codes_ + 1);
    starts[0] = 0;
    if (!fits) {
      cut(table, static_cast<std::int64_t>(codes.size()), starts, ids);
    }
  }

  // Leaves out what does not fit into buckets, and closes the gaps.
  void cut(std::int64_t table, std::int64_t rows, std::int32_t* starts, std::int32_t* ids) const {
    std::int32_t next = 0, first = 0;
    for (std::int64_t code = 0; code < num_codes_; ++code) {
      const std::int32_t last = starts[code + 1];
      starts[code] = next;
      std::int32_t* const bucket = ids + first;
      std::int64_t held = last - first;
      const std::int32_t* kept = bucket;
      if (held > bucket_ && reservoir_) {
        const auto rank = [table](std::int32_t id) { return reservoir_rank(table, id); };
        std::ranges::nth_element(bucket, bucket + bucket_, bucket + held, {}, rank);
        std::sort(bucket, bucket + bucket_);
      } else if (held > bucket_) {
        kept = bucket + (held - bucket_);
      }
      held = std::min(held, bucket_);
      std::copy_n(kept, held, ids + next);
      next += static_cast<std::int32_t>(held);
      first = last;
    }
    starts[num_codes_] = next;
    std::fill(ids + next, ids + rows, -1);
  }

  std::int64_t num_codes_, bucket_;
  bool reservoir_;
};

}  // namespace

void register_hash_tables(KernelTable& kernels) {
  const auto any = [](Op) { return Support{}; };
  kernels.add(hash_tables_def(),
              {.name = "counting sort", .supports = any, .plan = [](const KernelContext& context) {
                 return [sort = TableSort(context)](KernelContext& run) {
                   sort.run(run, run.out(0), run.out(1));
                 };
               }});
  kernels.add(update_hash_tables_def(),
              {.name = "counting sort", .supports = any, .plan = [](const KernelContext& context) {
                 const std::vector<std::string> names = updated_states(*context.attrs)[0];
                 return [sort = TableSort(context), names](KernelContext& run) {
                   if (run.in(1).item<bool>()) {
                     sort.run(run, run.states->modify(names[0]), run.states->modify(names[1]));
                   }
                   run.out() = run.states->get(names[0], *run.device);
                 };
               }});
}

}  // namespace antichain::cpu
