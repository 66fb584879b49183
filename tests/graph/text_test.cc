// The text form of a graph: it round-trips, and no text crashes the reader.
#include <gtest/gtest.h>

#include <limits>

#include "base/threefry.h"
#include "graph/graph.h"
#include "graph/op.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/registry.h"

namespace headwater {
namespace {

// One of everything that the text form has: all kinds of attributes, several outputs, scopes,
// state.
void build_example(Graph& graph) {
  graph.set_scope("embeddings");
  const Value table = graph.input("table \"words\"", {DType::kF32, {7, 4}}, true);
  const Value ids = graph.input("ids", {DType::kI32, {2}});
  const Value key = graph.input("key", {DType::kU32, {2}});
  const Value rows = gather_rows(table, ids);
  graph.set_scope("encoder/layer/0");
  const Value h = graph.input("line\nbreak\\", {DType::kF32, {4}}, true);
  const std::vector<Value> norm =
      graph.call(op::layer_norm, {dropout(rows, key, 0.1, 77), h, h}, {{"eps", 1e-12}});
  graph.set_scope("");
  const Value loss = sum_all(mul(norm[0], transpose(transpose(norm[0], {1, 0}), {1, 0})));
  const Value gradient = gradients(loss, {table})[0];
  graph.output("loss", loss);
  graph.output("", norm[2]);
  graph.output("of the state", table);
  graph.update(table, sub(table, gradient));
  graph.update(h, h);
}

std::string example_text() {
  Graph graph;
  build_example(graph);
  return print_graph(graph);
}

std::string round_trip(const std::string& text) {
  Graph graph;
  parse_graph(text, find_op, graph);
  return print_graph(graph);
}

TEST(GraphText, IsReadable) {
  Graph graph;
  graph.set_scope("head");
  const Value w = graph.input("w", {DType::kF32, {2, 3}}, true);
  graph.set_scope("");
  const Value x = graph.input("x", {DType::kF32, {3}});
  graph.set_scope("head");
  const Value y = add(w, x);
  graph.output("y", y);
  graph.update(w, y);
  EXPECT_EQ(print_graph(graph),
            "%0: f32[2,3] = state \"w\" @ \"head\"\n"
            "%1: f32[3] = feed \"x\"\n"
            "%2: f32[2,3] = broadcast(%1) {axes = [1], shape = [2, 3]} @ \"head\"\n"
            "%3: f32[2,3] = add(%0, %2) @ \"head\"\n"
            "output \"y\" = %3\n"
            "update %0 = %3\n");
}

TEST(GraphText, ReadsBackToAnEqualGraph) {
  Graph graph, read;
  build_example(graph);
  parse_graph(print_graph(graph), find_op, read);
  ASSERT_EQ(read.nodes().size(), graph.nodes().size());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node &a = graph.nodes()[i], &b = read.nodes()[i];
    EXPECT_EQ(a.op, b.op);
    EXPECT_EQ(a.attrs, b.attrs);
    EXPECT_EQ(a.outputs, b.outputs);
    EXPECT_EQ(a.scope, b.scope);
    ASSERT_EQ(a.inputs.size(), b.inputs.size());
    for (size_t j = 0; j < a.inputs.size(); ++j) {
      EXPECT_EQ(a.inputs[j].node(), b.inputs[j].node());
      EXPECT_EQ(a.inputs[j].output(), b.inputs[j].output());
    }
  }
  ASSERT_EQ(read.inputs().size(), graph.inputs().size());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    EXPECT_EQ(read.inputs()[i].name, graph.inputs()[i].name);
    EXPECT_EQ(read.inputs()[i].is_state, graph.inputs()[i].is_state);
  }
  EXPECT_EQ(print_graph(read), print_graph(graph));
  EXPECT_NO_THROW(verify(read));
}

TEST(GraphText, NumbersAndTextsOfAttributesSurvive) {
  const Op op{.name = "any",
              .infer = [](const InferContext& c) { return std::vector<Type>{c.in(0)}; }};
  static const Op* found = nullptr;
  found = &op;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const AttrValue& value :
       std::initializer_list<AttrValue>{0.1,
                                        -0.0,
                                        1.0,
                                        1e-300,
                                        5e-324,
                                        1e300,
                                        -2.5e17,
                                        kInf,
                                        -kInf,
                                        1.0 / 3,
                                        std::numeric_limits<int64_t>::min(),
                                        std::numeric_limits<int64_t>::max(),
                                        int64_t{0},
                                        true,
                                        false,
                                        std::string(),
                                        std::string("a \"b\" \\ c\nd,}] @ %1"),
                                        std::string("true"),
                                        std::vector<int64_t>{},
                                        std::vector<int64_t>{-1, 0, 1}}) {
    Graph graph, read;
    const Value x = graph.input("x", {DType::kF32, {}});
    graph.output("y", graph.call1(op, {x}, {{"value", value}}));
    const std::string text = print_graph(graph);
    parse_graph(
        text, [](std::string_view) { return found; }, read);
    EXPECT_EQ(read.node(1).attrs, graph.node(1).attrs) << text;
    EXPECT_EQ(print_graph(read), text);
  }
}

TEST(GraphText, AcceptsBlanksAndEmptyLinesAndAnyNumbersOfValues) {
  EXPECT_EQ(round_trip("\n%7:f32[2]=feed \"x\"\n\n %3 :  f32[ ] = reduce_sum( %7.0 ){axes=[0]} \n"
                       "output\"y\"=%3"),
            "%0: f32[2] = feed \"x\"\n"
            "%1: f32[] = reduce_sum(%0) {axes = [0]}\n"
            "output \"y\" = %1\n");
  EXPECT_EQ(round_trip(""), "");
}

TEST(GraphText, ErrorsNameTheLine) {
  const std::string x = "%0: f32[2] = feed \"x\"\n";
  const auto error_of = [&](const std::string& line) -> std::string {
    try {
      round_trip(x + line);
    } catch (const GraphError& e) {
      return e.what();
    }
    return "no error";
  };
  const std::pair<const char*, const char*> cases[] = {
      {"%1: f32[2] = no_such(%0)", "unknown operator 'no_such'"},
      {"%1: f32[2] = exp(%5)", "a value is used before it is defined"},
      {"%1: f32[2] = exp(%1)", "a value is used before it is defined"},
      {"%1: f32[2] = exp(%0.1)", "no such output"},
      {"%1: f32[2] = exp(%0.-1)", "no such output"},
      {"%1: f32[3] = exp(%0)", "the operator gives f32[2]"},
      {"%1: (f32[2], f32[2]) = exp(%0)", "the operator gives f32[2]"},
      {"%1: f32[2] = exp(%0, %0)", "exp(f32[2], f32[2]): wants 1 operands"},
      {"%1: f32[2] = exp(%0) trailing", "something follows the end of the line"},
      {"%1: f64[2] = feed \"y\"", "unknown type 'f64'"},
      {"%1: f32[-2] = feed \"y\"", "input y: no value can be f32[-2]"},
      {"%1: f32[99999999999999999999] = feed \"y\"", "expected an integer"},
      {"%1: f32[2] = feed \"x\"", "input x exists already"},
      {"%1: (f32[2], f32[2]) = feed \"y\"", "an input has one type"},
      {"%1: f32[2] = feed \"y", "the text has no end"},
      {"%0: f32[2] = feed \"y\"", "%0 is defined twice"},
      {"%1: f32[2] = exp(%0) {a = 1, a = 2}", "attribute a is given twice"},
      {"%1: f32[2] = exp(%0) {a = 1e999}", "expected a number"},
      {"%1: f32[2] = exp(%0) {a = }", "expected an integer"},
      {"%1: f32[2] = exp(%0) {a}", "expected '='"},
      {"output \"y\" = %9", "a value is used before it is defined"},
      {"output \"y\"", "expected '='"},
      {"update %0 = %0", "only a state input can be updated"},
      {"nonsense", "expected '%'"},
  };
  for (const auto& [line, expected] : cases) {
    EXPECT_EQ(error_of(line), std::string("graph text line 2: ") + expected) << line;
  }
}

// Either the text is a graph, or the error names a line.
void read_anything(const std::string& text) {
  try {
    Graph graph;
    parse_graph(text, find_op, graph);
    verify(graph);
  } catch (const GraphError& e) {
    EXPECT_TRUE(std::string_view(e.what()).starts_with("graph text line ")) << e.what();
  }
}

TEST(GraphText, NoTruncationCrashes) {
  const std::string text = example_text();
  for (size_t length = 0; length < text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    read_anything(cut);
    const bool whole_lines = length == 0 || text[length - 1] == '\n' || text[length] == '\n';
    if (whole_lines) {
      EXPECT_NO_THROW(round_trip(cut)) << cut;
    }
  }
}

TEST(GraphText, NoMutationCrashes) {
  const std::string text = example_text();
  const std::string_view alphabet = "%:[](){},.\"\\= @0123456789-eEnfiu_aw\n\xff";
  RandomStream random(Key::from_seed(5));
  const auto below = [&](size_t n) { return static_cast<size_t>(random.below(n)); };
  for (int round = 0; round < 3000; ++round) {
    std::string mutant = text;
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      const size_t at = below(mutant.size());
      switch (below(4)) {
        case 0: mutant[at] = alphabet[below(alphabet.size())]; break;
        case 1: mutant.erase(at, 1 + below(8)); break;
        case 2: mutant.insert(at, 1, alphabet[below(alphabet.size())]); break;
        default: mutant.insert(at, mutant.substr(below(mutant.size()), below(20))); break;
      }
    }
    read_anything(mutant);
  }
}

TEST(GraphText, NoMixtureOfLinesCrashes) {
  const std::string text = example_text();
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = text.find('\n', start);
    lines.push_back(text.substr(start, end - start + 1));
    start = end + 1;
  }
  RandomStream random(Key::from_seed(6));
  for (int round = 0; round < 1000; ++round) {
    std::string mutant;
    for (const std::string& line : lines) {
      const uint64_t choice = random.below(20);
      if (choice != 0) mutant += line;
      if (choice == 1) mutant += lines[random.below(lines.size())];
    }
    read_anything(mutant);
  }
}

}  // namespace
}  // namespace headwater
