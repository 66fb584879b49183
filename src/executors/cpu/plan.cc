#include "executors/cpu/plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "graph/op.h"

namespace headwater {
namespace {

using Kind = PlannedBuffer::Kind;
constexpr int64_t kAlignment = 64;
constexpr int32_t kForever = std::numeric_limits<int32_t>::max();

class Planner {
 public:
  explicit Planner(const Graph& graph) : graph_(graph) {
    plan_.buffer_of.resize(graph.nodes().size());
    plan_.workspace_of.assign(graph.nodes().size(), -1);
    last_read_.resize(graph.nodes().size());
    updates_.resize(graph.nodes().size());
    for (const StateUpdate& update : graph.updates()) {
      updates_[static_cast<size_t>(update.value.node())].push_back(update);
    }
  }

  MemoryPlan run() {
    note_last_reads();
    for (size_t id = 0; id < graph_.nodes().size(); ++id) assign(static_cast<int32_t>(id));
    place_outputs();
    place_updates();
    plan_.copies.insert(plan_.copies.end(), final_copies_.begin(), final_copies_.end());
    place_in_arena();
    return std::move(plan_);
  }

 private:
  int32_t& buffer_ref(Value v) {
    return plan_.buffer_of[static_cast<size_t>(v.node())][static_cast<size_t>(v.output())];
  }
  int32_t& last_read(Value v) {
    return last_read_[static_cast<size_t>(v.node())][static_cast<size_t>(v.output())];
  }
  PlannedBuffer& buffer(int32_t index) { return plan_.buffers[static_cast<size_t>(index)]; }

  // Per value, the last node that reads it or any view of it; views are folded into what they view.
  void note_last_reads() {
    const auto& nodes = graph_.nodes();
    for (size_t id = 0; id < nodes.size(); ++id) {
      last_read_[id].assign(nodes[id].outputs.size(), static_cast<int32_t>(id));
    }
    for (const GraphOutput& output : graph_.outputs()) last_read(output.value) = kForever;
    for (const StateUpdate& update : graph_.updates()) last_read(update.value) = kForever;
    for (size_t id = nodes.size(); id-- > 0;) {
      const auto reader = static_cast<int32_t>(id);
      for (size_t i = 0; i < nodes[id].inputs.size(); ++i) {
        const int32_t until = nodes[id].op->is_view ? std::max(reader, last_read_[id][i]) : reader;
        last_read(nodes[id].inputs[i]) = std::max(last_read(nodes[id].inputs[i]), until);
      }
    }
  }

  int32_t add_buffer(Kind kind, int64_t bytes, int32_t first, int32_t last, int32_t source = -1) {
    plan_.buffers.push_back({kind, bytes, 0, first, last, source});
    return static_cast<int32_t>(plan_.buffers.size()) - 1;
  }

  void assign(int32_t id) {
    const Node& node = graph_.node(id);
    auto& buffers = plan_.buffer_of[static_cast<size_t>(id)];
    buffers.assign(node.outputs.size(), -1);
    if (node.op == &kInputOp) {
      const bool state = graph_.find_input(node.attrs.get_text("name"))->is_state;
      buffers[0] = add_buffer(state ? Kind::kState : Kind::kFeed, node.outputs[0].byte_size(), id,
                              kForever, id);
      return;
    }
    if (node.inputs.empty()) {  // a constant or an iota: evaluated once
      buffers[0] = add_buffer(Kind::kConstant, node.outputs[0].byte_size(), id, kForever, id);
      return;
    }
    if (node.op->is_view) {
      for (size_t i = 0; i < buffers.size(); ++i) buffers[i] = buffer_ref(node.inputs[i]);
      return;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value value(nullptr, id, static_cast<int32_t>(i));
      const int32_t reused = reusable_operand(id, static_cast<int32_t>(i));
      if (const int32_t state = donated_state(id, static_cast<int32_t>(i)); state >= 0) {
        buffers[i] = state;
      } else if (reused >= 0) {
        buffers[i] = reused;
        buffer(reused).last = std::max(buffer(reused).last, last_read(value));
      } else {
        buffers[i] = add_buffer(Kind::kArena, node.outputs[i].byte_size(), id, last_read(value));
      }
    }
    if (node.op->workspace != nullptr) add_workspace(id);
  }

  void add_workspace(int32_t id) {
    const Node& node = graph_.node(id);
    std::vector<const Type*> types;
    for (const Value& input : node.inputs) types.push_back(&input.type());
    const int64_t bytes = node.op->workspace(node, types);
    if (bytes > 0)
      plan_.workspace_of[static_cast<size_t>(id)] = add_buffer(Kind::kArena, bytes, id, id);
  }

  // Whether the node reads the buffer through one operand only. What an operator promises about
  // writing over an operand does not hold when another operand lies there, too.
  bool reads_once(const Node& node, int32_t index) {
    return std::count_if(node.inputs.begin(), node.inputs.end(),
                         [&](Value v) { return buffer_ref(v) == index; }) == 1;
  }

  // The buffer of an operand that output `output` may be written over, or -1: allowed by the
  // operator, of the same size, in the arena, and dead after this node. A buffer serves one output
  // only.
  int32_t reusable_operand(int32_t id, int32_t output) {
    const Node& node = graph_.node(id);
    for (const auto& [out, in] : node.op->in_place) {
      if (out != output) continue;
      const int32_t candidate = buffer_ref(node.inputs[static_cast<size_t>(in)]);
      const PlannedBuffer& found = buffer(candidate);
      const auto& taken = plan_.buffer_of[static_cast<size_t>(id)];
      const bool free = found.kind == Kind::kArena && found.last == id &&
                        reads_once(node, candidate) &&
                        std::find(taken.begin(), taken.end(), candidate) == taken.end();
      if (free && found.bytes == node.outputs[static_cast<size_t>(output)].byte_size())
        return candidate;
    }
    return -1;
  }

  // The state's buffer when this output is the state's new value and may be written over the old
  // one, which nobody reads afterwards; or -1.
  int32_t donated_state(int32_t id, int32_t output) {
    const Node& node = graph_.node(id);
    for (const StateUpdate& update : updates_[static_cast<size_t>(id)]) {
      const int32_t state = buffer_ref(update.input);
      if (update.value.output() != output || last_read(update.input) > id) continue;
      for (const auto& [out, in] : node.op->in_place) {
        const bool over =
            out == output && buffer_ref(node.inputs[static_cast<size_t>(in)]) == state;
        if (over && reads_once(node, state)) return state;
      }
    }
    return -1;
  }

  void add_copy(std::vector<BufferCopy>& copies, int32_t to, int32_t from) {
    const int64_t bytes = buffer(from).bytes;
    if (bytes > 0) copies.push_back({to, from, bytes});
  }

  // A copy made after the last node and before any state changes.
  int32_t snapshot(int32_t from) {
    const auto end = static_cast<int32_t>(graph_.nodes().size());
    const int32_t kept = add_buffer(Kind::kArena, buffer(from).bytes, end, kForever);
    add_copy(plan_.copies, kept, from);
    return kept;
  }

  // An output that lies in a feed or in the state is copied, so that it stays the last run's.
  void place_outputs() {
    for (const GraphOutput& output : graph_.outputs()) {
      const int32_t index = buffer_ref(output.value);
      const Kind kind = buffer(index).kind;
      const bool changes = kind == Kind::kState || kind == Kind::kFeed;
      plan_.output_buffer.push_back(changes ? snapshot(index) : index);
    }
  }

  // New values that do not lie in their state's buffer yet. One that is another state's old value
  // goes through a snapshot, as that state may change first.
  void place_updates() {
    for (const StateUpdate& update : graph_.updates()) {
      const int32_t state = buffer_ref(update.input), source = buffer_ref(update.value);
      if (state == source) continue;
      const bool changes = buffer(source).kind == Kind::kState;
      add_copy(final_copies_, state, changes ? snapshot(source) : source);
    }
  }

  void place_in_arena() {
    std::vector<int32_t> order;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (plan_.buffers[i].kind == Kind::kArena) order.push_back(static_cast<int32_t>(i));
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return buffer(a).bytes > buffer(b).bytes; });
    std::vector<int32_t> placed;  // sorted by offset
    for (const int32_t index : order) {
      place(index, placed);
      const auto by_offset = [&](int32_t a, int32_t b) {
        return buffer(a).offset < buffer(b).offset;
      };
      placed.insert(std::upper_bound(placed.begin(), placed.end(), index, by_offset), index);
    }
  }

  void place(int32_t index, const std::vector<int32_t>& placed) {
    PlannedBuffer& mine = buffer(index);
    const int64_t bytes = round_up(mine.bytes, kAlignment);
    int64_t offset = 0;
    for (const int32_t other : placed) {
      const PlannedBuffer& theirs = buffer(other);
      if (theirs.last < mine.first || mine.last < theirs.first) continue;
      if (theirs.offset >= offset + bytes) break;  // the gap before it is large enough
      offset = std::max(offset, theirs.offset + round_up(theirs.bytes, kAlignment));
    }
    mine.offset = offset;
    plan_.arena_bytes = std::max(plan_.arena_bytes, offset + bytes);
  }

  const Graph& graph_;
  MemoryPlan plan_;
  std::vector<std::vector<int32_t>> last_read_;    // [node][output]
  std::vector<std::vector<StateUpdate>> updates_;  // [node]: those whose new value it makes
  std::vector<BufferCopy> final_copies_;
};

}  // namespace

MemoryPlan plan_memory(const Graph& graph) { return Planner(graph).run(); }

}  // namespace headwater
