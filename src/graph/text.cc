// The readable form of a graph, one line per node, and its reader.
//
//   %0: f32[4,8] = state "dense.weight"
//   %1: i32[2] = feed "ids"
//   %2: (f32[2,8], f32[2]) = layer_norm(%0, %1) {eps = 1e-12} @ "encoder/layer/0"
//   output "loss" = %2.1
//   update %0 = %7.0
#include <charconv>

#include "graph/graph.h"
#include "graph/op.h"

namespace headwater {
namespace {

std::string reference(Value value) {
  return value.output() == 0 ? fmt::format("%{}", value.node())
                             : fmt::format("%{}.{}", value.node(), value.output());
}

std::string types_text(const std::vector<Type>& types) {
  if (types.size() == 1) return types[0].text();
  std::string text = "(";
  for (size_t i = 0; i < types.size(); ++i) text += (i == 0 ? "" : ", ") + types[i].text();
  return text + ")";
}

// A cursor over one line; an expectation that fails throws.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  // parse_graph() puts the line number in front, of these and of what the graph itself throws.
  [[noreturn]] static void error(std::string_view what) { throw GraphError(std::string(what)); }
  void skip_blanks() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool accept(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) error(fmt::format("expected '{}'", token));
  }
  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }
  std::string word() {
    skip_blanks();
    size_t n = 0;
    const auto is_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    while (n < rest_.size() && is_word(rest_[n])) ++n;
    if (n == 0) error("expected a name");
    std::string out(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return out;
  }
  int64_t integer() {
    skip_blanks();
    int64_t value = 0;
    const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (code != std::errc()) error("expected an integer");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  std::string quoted() {
    expect("\"");
    std::string out;
    while (!rest_.empty() && rest_.front() != '"') {
      const bool escaped = rest_.front() == '\\';
      if (escaped) rest_.remove_prefix(1);
      if (rest_.empty()) break;
      out += escaped && rest_.front() == 'n' ? '\n' : rest_.front();
      rest_.remove_prefix(1);
    }
    // Not expect(): blanks inside the quotes belong to the text.
    if (rest_.empty()) error("the text has no end");
    rest_.remove_prefix(1);
    return out;
  }
  std::vector<int64_t> integers(std::string_view close) {
    std::vector<int64_t> values;
    while (!accept(close)) {
      if (!values.empty()) expect(",");
      values.push_back(integer());
    }
    return values;
  }
  Type type() {
    const std::string name = word();
    for (const DType dtype : {DType::kF32, DType::kI32, DType::kU32, DType::kPred}) {
      if (name == dtype_name(dtype)) {
        expect("[");
        return Type{dtype, integers("]")};
      }
    }
    error(fmt::format("unknown type '{}'", name));
  }
  AttrValue attribute() {
    skip_blanks();
    if (accept("true")) return true;
    if (accept("false")) return false;
    if (rest_.starts_with("\"")) return quoted();
    if (accept("[")) return integers("]");
    const size_t n = rest_.find_first_of(",} ");
    const std::string_view token = rest_.substr(0, n);
    if (token.find_first_of(".en") == std::string_view::npos) return integer();
    double value = 0;
    const auto [end, code] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (code != std::errc() || end != token.data() + token.size()) error("expected a number");
    rest_.remove_prefix(token.size());
    return value;
  }

 private:
  std::string_view rest_;
};

class GraphReader {
 public:
  GraphReader(const Op* (*find_op)(std::string_view), Graph& into)
      : find_op_(find_op), graph_(into) {}

  void read_line(LineReader line) {
    if (line.accept("output")) {
      std::string name = line.quoted();
      line.expect("=");
      graph_.output(std::move(name), value(line));
    } else if (line.accept("update")) {
      const Value input = value(line);
      line.expect("=");
      graph_.update(input, value(line));
    } else {
      read_node(line);
    }
    if (!line.at_end()) line.error("something follows the end of the line");
  }

 private:
  Value value(LineReader& line) const {
    line.expect("%");
    const auto it = nodes_.find(line.integer());
    if (it == nodes_.end()) line.error("a value is used before it is defined");
    const int64_t output = line.accept(".") ? line.integer() : 0;
    if (output < 0 || output >= static_cast<int64_t>(it->second.size()))
      line.error("no such output");
    return it->second[static_cast<size_t>(output)];
  }

  void read_node(LineReader& line) {
    line.expect("%");
    const int64_t id = line.integer();
    if (nodes_.contains(id)) line.error(fmt::format("%{} is defined twice", id));
    line.expect(":");
    std::vector<Type> types;
    if (line.accept("(")) {
      do types.push_back(line.type());
      while (line.accept(","));
      line.expect(")");
    } else {
      types.push_back(line.type());
    }
    line.expect("=");
    const bool is_state = line.accept("state ");
    if (is_state || line.accept("feed ")) {
      if (types.size() != 1) line.error("an input has one type");
      std::string name = line.quoted();
      read_scope(line);
      nodes_[id] = {graph_.input(std::move(name), types[0], is_state)};
      return;
    }
    nodes_[id] = read_call(line);
    std::vector<Type> found;
    for (const Value& v : nodes_[id]) found.push_back(v.type());
    if (found != types) line.error(fmt::format("the operator gives {}", types_text(found)));
  }

  std::vector<Value> read_call(LineReader& line) {
    const std::string name = line.word();
    const Op* op = find_op_(name);
    if (op == nullptr) line.error(fmt::format("unknown operator '{}'", name));
    line.expect("(");
    std::vector<Value> inputs;
    while (!line.accept(")")) {
      if (!inputs.empty()) line.expect(",");
      inputs.push_back(value(line));
    }
    Attrs attrs;
    if (line.accept("{")) {
      do {
        std::string key = line.word();
        if (attrs.has(key)) line.error(fmt::format("attribute {} is given twice", key));
        line.expect("=");
        attrs.set(std::move(key), line.attribute());
      } while (line.accept(","));
      line.expect("}");
    }
    read_scope(line);
    return graph_.call(*op, std::move(inputs), std::move(attrs));
  }

  void read_scope(LineReader& line) { graph_.set_scope(line.accept("@") ? line.quoted() : ""); }

  const Op* (*find_op_)(std::string_view);
  Graph& graph_;
  std::unordered_map<int64_t, std::vector<Value>> nodes_;
};

}  // namespace

std::string print_graph(const Graph& graph) {
  std::string text;
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    text += fmt::format("%{}: {} = ", id, types_text(node.outputs));
    if (node.op == &kInputOp) {
      const GraphInput* input = graph.find_input(node.attrs.get_text("name"));
      text += fmt::format("{} {}", input->is_state ? "state" : "feed", quoted_text(input->name));
    } else {
      text += std::string(node.op->name) + "(";
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        text += (i == 0 ? "" : ", ") + reference(node.inputs[i]);
      }
      text += ")" + node.attrs.text();
    }
    if (!node.scope.empty()) text += " @ " + quoted_text(node.scope);
    text += "\n";
  }
  for (const GraphOutput& output : graph.outputs()) {
    text += fmt::format("output {} = {}\n", quoted_text(output.name), reference(output.value));
  }
  for (const StateUpdate& update : graph.updates()) {
    text += fmt::format("update {} = {}\n", reference(update.input), reference(update.value));
  }
  return text;
}

void parse_graph(std::string_view text, const Op* (*find_op)(std::string_view), Graph& into) {
  GraphReader reader(find_op, into);
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    try {
      if (!line.empty()) reader.read_line(LineReader(line));
    } catch (const GraphError& e) {
      throw GraphError(fmt::format("graph text line {}: {}", number, e.what()));
    }
  }
  into.set_scope("");
}

}  // namespace headwater
