#include <algorithm>
#include <cmath>

#include "cli/lab/induction/show.h"
#include "cli/lab/induction/words.h"
#include "views/report/numbers.h"

namespace headlight::cli::lab {
namespace {

constexpr Text kPatching{"4. Which heads carry it, and where?",
                         "4. 어느 헤드가 어디에서 나르는가?"};
constexpr Text kPatchingText{
    "Activation patching: the corrupt text is read with the output of one head as it is on the "
    "clean "
    "text ('brings back'), and the clean text with one as it is on the corrupt text ('takes "
    "away'). "
    "Shares of the difference, means over pairs with 95 % intervals:",
    "활성값 패칭(activation patching): 변형문을 읽되 헤드 하나의 출력만 원문을 읽을 때의 값으로 "
    "바꾸고(‘되살림’), 거꾸로 원문을 읽되 헤드 하나의 출력만 변형문을 읽을 때의 값으로 "
    "바꾼다(‘잃음’). 값은 차이에 대한 몫으로, 쌍에 대한 평균과 95% 구간이다."};
constexpr Text kPlaces{
    "The same at one place at a time ('brings back'), named as in A B ... X Y ... A. Part of a "
    "task "
    "that is done at two places is seen only in part at each.",
    "같은 ‘되살림’을 한 자리에서만 한 것. 자리 이름은 A B … X Y … A를 따른다. 두 자리에서 나누어 "
    "하는 일은 자리마다 그 일부만 보인다."};
constexpr Text kHead{"head", "헤드"};
constexpr Text kSuffices{"brings back", "되살림"};
constexpr Text kNeeded{"takes away", "잃음"};
constexpr Text kEnd{"A (end)", "A(끝)"};

constexpr Text kPathsTitle{"5. Who tells {0} where to look?",
                           "5. {0} 헤드에 볼 곳을 알려 주는 것은?"};
constexpr Text kPathsText{
    "An induction head finds the key of B because B's key says what stands before it, and only a "
    "head of an earlier layer can have written that there. Path patching lets one earlier head "
    "reach query, key or value of {0} as on the clean text, while nothing else changes (shares, "
    "means over pairs with 95 % intervals):",
    "귀납 헤드가 B의 키(key)를 찾을 수 있는 까닭은 B의 키에 바로 앞 토큰이 무엇인지 적혀 있기 "
    "때문이며, 그것을 적어 둘 수 있는 것은 아래층의 헤드뿐이다. 경로 패칭(path patching)은 아래층 "
    "헤드 "
    "하나가 원문을 읽을 때 내는 값이 {0} 헤드의 쿼리(query), 키, 값(value) 가운데 하나에만 닿게 "
    "하고 "
    "나머지는 모두 그대로 둔다(차이에 대한 몫, 쌍에 대한 평균과 95% 구간)."};
constexpr Text kNoPaths{"{0} stands in the first layer: no head comes before it.",
                        "{0} 헤드는 첫 층에 있어 그 앞에 다른 헤드가 없다."};
constexpr Text kFrom{"from", "보내는 헤드"};
constexpr Text kQuery{"query", "쿼리"};
constexpr Text kKey{"key", "키"};
constexpr Text kValue{"value", "값"};

constexpr Text kOff{"6. Can the model do without?", "6. 그 헤드 없이도 되는가?"};
constexpr Text kOffText{
    "Loss on the second copy of random tokens that repeat while heads put out nothing. The last "
    "lines are other heads, as many at once as there are induction heads, drawn among those that "
    "no step has named (95 % intervals over sequences).",
    "헤드의 출력을 0으로 만들었을 때, 되풀이되는 무작위 토큰의 두 번째 사본에서 잰 손실이다. "
    "마지막 "
    "줄들은 앞 단계에서 이름이 나오지 않은 헤드 가운데 귀납 헤드와 같은 수만큼 뽑아 끈 것이다(괄호 "
    "안은 "
    "시퀀스에 대한 95% 구간)."};
constexpr Text kWithout{"without", "끈 헤드"};
constexpr Text kNothing{"(nothing)", "(없음)"};
constexpr Text kInductionHeads{"{0} (induction)", "{0} (귀납)"};
constexpr Text kSourceHead{"{0} (tells where)", "{0} (볼 곳을 알림)"};
constexpr Text kLoss{"loss", "손실"};
constexpr Text kRise{"rise", "상승"};

constexpr Text kCircuit{"7. Is that all of it?", "7. 그것이 전부인가?"};
constexpr Text kCircuitText{
    "Every line along which one part reads what another writes is scored by its gradients; the "
    "strongest are kept, and all others carry what they do on the corrupt text. Faithfulness is "
    "the "
    "share of the whole model's difference that is left.",
    "한 부분이 다른 부분이 쓴 것을 읽는 연결(edge)마다 기울기로 점수를 매겨 강한 것부터 남기고, "
    "나머지 "
    "연결에는 모두 변형문에서의 값이 흐르게 한다. 충실도(faithfulness)는 이때 남는 차이가 모델 "
    "전체의 "
    "차이에서 차지하는 몫이다."};
constexpr Text kKept{"{0} of {1} edges are left, with a faithfulness of {2}. The strongest:",
                     "연결 {1}개 가운데 {0}개가 남으며, 충실도는 {2}이다. 가장 강한 연결:"};
constexpr Text kEdge{"edge", "연결"};
constexpr Text kShare{"share", "몫"};
constexpr Text kEdges{"edges", "연결 수"};
constexpr Text kFaithfulness{"faithfulness", "충실도"};

constexpr Text kStarts{"8. Is it so every time?", "8. 매번 그러한가?"};
constexpr Text kStartsText{
    "The same training from other random weights, on another made-up text. 'Key' is the share of "
    "the strongest path into the keys of the strongest induction head, 'rise' that of the loss "
    "without all induction heads, 'others' the largest without as many others.",
    "초깃값과 지어낸 글을 바꾸어 같은 학습을 되풀이한 결과이다. ‘키’는 가장 강한 귀납 헤드의 키로 "
    "가는 "
    "경로 가운데 가장 강한 것의 몫, ‘상승’은 귀납 헤드를 모두 껐을 때의 손실 상승, ‘나머지’는 다른 "
    "헤드를 같은 수만큼 껐을 때의 가장 큰 상승이다."};
constexpr Text kSeed{"seed", "시드"};
constexpr Text kDone{"pairs", "해낸 쌍"};
constexpr Text kFound{"induction heads", "귀납 헤드"};
constexpr Text kNone{"none", "없음"};
constexpr Text kOthers{"others", "나머지"};

constexpr Text kOpen{"What was not found", "찾지 못한 것"};
constexpr Text kOpenPath{
    "The path from {0} alone carries {1} of the difference; the rest takes other ways, through "
    "other heads or several at once. The circuit leaves {2} of it unexplained.",
    "{0} 헤드에서 오는 경로 하나가 나르는 몫은 차이의 {1}이다. 나머지는 다른 헤드를 거치거나 여러 "
    "길로 "
    "나뉘어 간다. 회로(circuit)로 설명되지 않는 몫은 {2}이다."};
constexpr Text kOpenNoPath{"The circuit leaves {0} of the difference unexplained.",
                           "차이 가운데 회로(circuit)로 설명되지 않는 몫은 {0}이다."};
constexpr Text kOpenHeads{
    "Heads without a part in this story that bring back or take away more than 0.05: {0}. What "
    "they "
    "add is open.",
    "이 설명에 나오지 않으면서도 0.05 넘게 되살리거나 잃게 하는 헤드: {0}. 그 역할은 밝혀지지 "
    "않았다."};
constexpr Text kOpenNoHeads{
    "No head outside this story brings back or takes away more than 0.05.",
    "이 설명에 나오지 않는 헤드 가운데 0.05 넘게 되살리거나 잃게 하는 것은 없다."};
constexpr Text kOpenTexts{
    "All of this is about random tokens. What these heads do in texts with a meaning, and what "
    "replaces a value that is taken away, are other questions: the shares are those of these "
    "pairs.",
    "이 모두는 무작위 토큰에서 본 것이다. 뜻이 있는 글에서 이 헤드들이 무엇을 하는지는 따로 물어야 "
    "할 "
    "문제이며, 몫의 크기는 바꾸어 넣는 값, 곧 여기에서 쓴 쌍에 따라 달라진다."};

constexpr Index kEdgesShown = 8;
constexpr double kNoticeable = 0.05;

}  // namespace

void show_patching(const Findings& findings, Report& report) {
  report.heading(kPatching);
  report.paragraph(kPatchingText);
  Table wholes({{report.words(kHead), true}, {report.words(kSuffices)}, {report.words(kNeeded)}});
  std::vector<Table::Column> columns{{report.words(kHead), true}};
  for (std::size_t place = 0; place < kPairPlaces.size(); ++place) {
    const bool is_end = place + 1 == kPairPlaces.size();
    columns.push_back({is_end ? report.words(kEnd) : kPairPlaces[place]});
  }
  Table places(columns);
  for (const HeadFinding* head : strongest(findings)) {
    const std::string name = head_name(head->scored.head);
    wholes.add(
        {name, signed_with_range(head->suffices, report), signed_with_range(head->needed, report)});
    std::vector<std::string> cells{name};
    for (const double share : head->by_place) {
      cells.push_back(signed_number(share, 2));
    }
    places.add(cells);
  }
  report.table(wholes);
  report.paragraph(kPlaces);
  report.table(places);
}

void show_paths(const Findings& findings, Report& report) {
  const std::string receiver = head_name(findings.receiver);
  report.heading(kPathsTitle, {receiver});
  if (findings.paths.empty()) {
    report.paragraph(kNoPaths, {receiver});
    return;
  }
  report.paragraph(kPathsText, {receiver});
  Table table({{report.words(kFrom), true},
               {report.words(kQuery)},
               {report.words(kKey)},
               {report.words(kValue)}});
  for (const PathFinding& path : findings.paths) {
    table.add({head_name(path.from), signed_with_range(path.into[0], report),
               signed_with_range(path.into[1], report), signed_with_range(path.into[2], report)});
  }
  report.table(table);
}

void show_switching_off(const Findings& findings, Report& report) {
  report.heading(kOff);
  report.paragraph(kOffText);
  Table table({{report.words(kWithout), true}, {report.words(kLoss)}, {report.words(kRise)}});
  const Repetition& repetition = findings.repetition;
  const auto add = [&](const Text& name, const LossWithout& without) {
    table.add({report.words(name, {names_of(without.heads)}), with_range(without.loss, report),
               signed_with_range(without.rise, report)});
  };
  table.add({report.words(kNothing), with_range(repetition.second, report), ""});
  add(kInductionHeads, repetition.without_induction);
  if (repetition.without_source) {
    add(kSourceHead, *repetition.without_source);
  }
  for (const LossWithout& others : repetition.without_others) {
    add({"{0}", "{0}"}, others);
  }
  report.table(table);
}

void show_circuit(const Findings& findings, Report& report) {
  const CircuitResult& circuit = findings.circuit;
  report.heading(kCircuit);
  report.paragraph(kCircuitText);
  report.paragraph(kKept, {grouped(circuit.kept), grouped(std::ssize(circuit.edges)),
                           fixed_number(circuit.faithfulness, 2)});
  Table strongest_edges({{report.words(kEdge), true}, {report.words(kShare)}});
  Index shown = 0;
  for (const CircuitEdge& edge : circuit.edges) {
    if (edge.is_kept && shown < kEdgesShown) {
      strongest_edges.add({edge_name(edge), signed_number(edge.score, 2)});
      ++shown;
    }
  }
  report.table(strongest_edges);
  Table curve({{report.words(kEdges)}, {report.words(kFaithfulness)}});
  for (const CircuitFit& fit : circuit.curve) {
    curve.add({grouped(fit.edges), fixed_number(fit.faithfulness, 2)});
  }
  report.table(curve);
}

void show_starts(const std::vector<StartFinding>& starts, Report& report) {
  report.heading(kStarts);
  report.paragraph(kStartsText);
  Table table({{report.words(kSeed)},
               {report.words(kDone)},
               {report.words(kFound), true},
               {report.words(kFrom), true},
               {report.words(kKey)},
               {report.words(kRise)},
               {report.words(kOthers)}});
  for (const StartFinding& start : starts) {
    const Findings& found = start.findings;
    const bool done = found.does_task();
    table.add({std::to_string(start.seed), concat_text(found.pairs_done, " / ", found.pairs.size()),
               found.has_induction ? names_of(found.induction_heads) : report.words(kNone),
               found.source ? head_name(*found.source) : "-",
               found.source ? signed_number(found.paths.front().into[1].mean, 2) : "-",
               done ? signed_number(found.repetition.without_induction.rise.mean, 2) : "-",
               found.repetition.without_others.empty()
                   ? "-"
                   : signed_number(found.repetition.largest_other_rise(), 2)});
  }
  report.table(table);
}

void show_open_ends(const Findings& findings, Report& report) {
  report.heading(kOpen);
  const std::string unexplained = fixed_number(1 - findings.circuit.faithfulness, 2);
  if (findings.source) {
    report.paragraph(kOpenPath,
                     {head_name(*findings.source),
                      fixed_number(findings.paths.front().into[1].mean, 2), unexplained});
  } else {
    report.paragraph(kOpenNoPath, {unexplained});
  }
  std::string open;
  for (const HeadFinding& head : findings.heads) {
    const double most = std::max(std::abs(head.suffices.mean), std::abs(head.needed.mean));
    if (!has_part(findings, head) && most > kNoticeable) {
      open += (open.empty() ? "" : ", ") + head_name(head.scored.head);
    }
  }
  report.paragraph(open.empty() ? kOpenNoHeads : kOpenHeads, {open});
  report.paragraph(kOpenTexts);
}

}  // namespace headlight::cli::lab
