#include "cli/lab/induction/show.h"

#include <algorithm>
#include <cmath>

#include "cli/lab/induction/words.h"
#include "cli/lab/pictures.h"
#include "headlight/heads/head_verdict.h"
#include "views/plot/chart.h"
#include "views/report/json_output.h"
#include "views/report/terminal_text.h"

namespace headlight::cli::lab {
namespace {

constexpr Text kQuestion{
    "A text has come to ... A B ... A. Who has noticed that B followed A before will guess B "
    "again: "
    "that is induction, the simplest way to learn from a text while reading it. Does this model do "
    "it, and which of its parts do it how?",
    "글이 … A B … A까지 나왔다고 하자. 앞에서 A 다음에 B가 나온 것을 눈여겨보았다면 이번에도 B를 "
    "고를 것이다. 이것이 귀납(induction)이며, 글을 읽으면서 바로 그 글에서 배우는 가장 단순한 "
    "방법이다. 이 모델은 귀납을 하는가? 한다면 어느 부분이 어떻게 하는가?"};
constexpr Text kTrained{
    "The model has {0} layers of {1} heads, width {2} and no MLPs, as that of "
    "configs/induction.toml. It has just learnt: half of its sequences were random letters that "
    "repeat, half a made-up text in which each letter depends on the two before it. With --model "
    "runs/induction a model that is there already is looked into instead.",
    "모델은 configs/induction.toml의 모델과 같은 크기로, 층 {0}개에 헤드(head)가 {1}개씩 있고 "
    "차원은 {2}이며 MLP는 없다. 방금 학습을 마쳤는데, 학습 시퀀스의 절반은 되풀이되는 무작위 "
    "글자였고 "
    "나머지 절반은 글자마다 앞의 두 글자에 좌우되는 지어낸 글이었다. --model runs/induction처럼 "
    "쓰면 새로 학습하지 않고 이미 있는 모델을 들여다본다."};
constexpr Text kGiven{"The model has {0} layers, {1} heads in the first, and width {2}.",
                      "모델은 층이 {0}개, 첫 층의 헤드(head)가 {1}개, 차원이 {2}이다."};
constexpr Text kBirth{
    "Loss on the second copy of random tokens that repeat, nats a token, by update "
    "(0 to {0}); guessing would be ln {1} = {2}:",
    "되풀이되는 무작위 토큰에서 두 번째 사본의 손실(loss, 토큰당 nat). 가로축은 업데이트 "
    "횟수(0~{0}), 찍을 때의 손실은 ln {1} = {2}:"};

constexpr Text kTask{"1. Does it do it?", "1. 귀납을 하는가?"};
constexpr Text kCopies{
    "Of random tokens that come twice, {0} sequences of them, a token of the first copy costs {1} "
    "nats and one of the second {2} (95 % intervals over sequences).",
    "무작위 토큰을 두 번 되풀이한 시퀀스 {0}개에서 잰 손실은 첫 번째 사본에서 토큰당 {1} nat, 두 "
    "번째 사본에서 토큰당 {2} nat이다(괄호 안은 시퀀스에 대한 95% 구간)."};
constexpr Text kPairs{
    "A sharper question, {0} pairs of texts that only induction tells apart. In the corrupt one A "
    "and what stands before it have changed places with another token, X, and what stands before "
    "that, so that not B but Y should follow:",
    "더 날카로운 질문으로, 귀납을 해야만 구별할 수 있는 글을 {0}쌍 만든다. 변형문(corrupt)에서는 "
    "A가 그 앞의 토큰들과 함께 다른 토큰 X와 자리를 맞바꾸었으므로, B가 아니라 Y가 뒤따라야 한다."};
constexpr Text kClean{"clean", "원문"};
constexpr Text kCorrupt{"corrupt", "변형문"};
constexpr Text kDifference{
    "The logit of B less that of Y is {0} at the end of the clean texts and {1} at the end of the "
    "corrupt ones (means). {2} of {3} pairs are done clearly: the right token is at least twice as "
    "likely as the other in both texts.",
    "B의 로짓(logit)에서 Y의 로짓을 뺀 값은 평균하여 원문 끝에서 {0}, 변형문 끝에서 {1}이다. "
    "{3}쌍 가운데 {2}쌍을 확실히 해낸다. 곧 두 글 모두에서 맞는 토큰의 확률이 다른 토큰의 두 배 "
    "이상이다."};
constexpr Text kNoTask{
    "The model does not do this task. Shares of a difference that is not there would mean nothing: "
    "the steps that rest on it are left out.",
    "이 모델은 이 과제를 해내지 못한다. 있지도 않은 차이의 몫은 뜻이 없으므로, 이 과제에 바탕을 둔 "
    "단계는 건너뛴다."};

constexpr Text kHeads{"2. Which heads look as if they did it?",
                      "2. 귀납을 하는 듯이 보이는 헤드는?"};
constexpr Text kHeadsText{
    "Weights on random tokens that repeat: 'induction' is what lies on the token that followed the "
    "same token before, 'previous' on the token just before (95 % intervals over sequences). A "
    "head "
    "is named from 0.5 on; ? marks a name that may be chance.",
    "되풀이되는 무작위 토큰에서 잰 어텐션 가중치(attention weight)이다. ‘귀납’은 같은 토큰이 앞에 "
    "나왔을 때 그다음에 있던 토큰에 두는 몫, ‘바로 앞’은 바로 앞 토큰에 두는 몫이다(괄호 안은 "
    "시퀀스에 대한 95% 구간). 0.5 이상이면 이름을 붙이며, 우연일 수 있는 이름에는 ?를 단다."};
constexpr Text kHead{"head", "헤드"};
constexpr Text kDoes{"does", "하는 일"};
constexpr Text kInduction{"induction", "귀납"};
constexpr Text kPrevious{"previous", "바로 앞"};
constexpr Text kNoInduction{
    "No head is an induction head. {0} comes nearest and stands for one below.",
    "귀납 헤드는 없다. 가장 가까운 것은 {0} 헤드이며, 아래에서는 이 헤드를 대신 살펴본다."};
constexpr Text kMaps{
    "What {0} and {1} look at while eight tokens come twice; rows are queries, columns keys:",
    "토큰 여덟 개가 두 번 나올 때 {0} 헤드와 {1} 헤드가 보는 곳. 행은 쿼리(query), 열은 "
    "키(key)이다."};

constexpr Text kLayers{"3. Where does the answer appear?", "3. 답은 어디에서 나타나는가?"};
constexpr Text kLayersText{
    "The logit lens reads the residual stream behind every layer as if the layers above were not "
    "there: probability of B at the end of the clean texts (mean), and its rank among all tokens "
    "(median; 1 is the likeliest).",
    "로짓 렌즈(logit lens)는 층마다 잔차 스트림(residual stream)을, 위층이 없는 것처럼 곧바로 "
    "읽는다. "
    "아래는 원문 끝에서 B의 확률(평균)과 모든 토큰 가운데 B의 순위(중앙값, 1이 가장 높다)이다."};
constexpr Text kBehind{"behind", "읽는 곳"};
constexpr Text kProbability{"probability", "확률"};
constexpr Text kRank{"rank", "순위"};
constexpr Text kStepLayer{"The largest step, from {0} to {1}, is made by layer {2}.",
                          "가장 크게 오르는 곳은 층 {2}이며, 확률이 {0}에서 {1}까지 오른다."};

std::string spaced(const std::vector<std::int32_t>& tokens, const Subject& subject) {
  std::string text;
  for (const std::int32_t id : tokens) {
    text += (text.empty() ? "" : " ") + shown_token(id, *subject.tokenizer);
  }
  return text;
}

void show_pair(const InductionPair& pair, const Subject& subject, Report& report) {
  const auto width = static_cast<Index>(
      std::max(display_width(report.words(kClean)), display_width(report.words(kCorrupt))));
  const auto line = [&](const Text& name, const std::vector<std::int32_t>& text,
                        std::int32_t next) {
    return "  " + pad_right(report.words(name), width) + "  " + spaced(text, subject) + "  →  " +
           shown_token(next, *subject.tokenizer) + "\n";
  };
  report.block(line(kClean, pair.task.clean, pair.task.answer.front()) +
               line(kCorrupt, pair.task.corrupt, pair.task.wrong.front()));
}

// Shows the loss curve of the training as a chart of block characters.
void show_birth(const Subject& subject, Report& report) {
  const Index vocabulary = subject.model->vocab_size();
  report.paragraph(kBirth, {fixed_number(subject.updates.back(), 0), std::to_string(vocabulary),
                            fixed_number(std::log(static_cast<double>(vocabulary)), 2)});
  report.block(line_chart(subject.second_copy, {.width = 60, .height = 6, .low = 0}));
}

void show_maps(const Findings& findings, const Subject& subject, Report& report) {
  if (!findings.source) {
    return;
  }
  const std::vector<std::int32_t> tokens = repeated_example(subject);
  const std::vector<std::string> labels = shown_tokens(tokens, *subject.tokenizer);
  report.paragraph(kMaps, {head_name(*findings.source), head_name(findings.receiver)});
  report.block(side_by_side({head_name(*findings.source), head_name(findings.receiver)},
                            {shades(map_of(subject, *findings.source, tokens), labels),
                             shades(map_of(subject, findings.receiver, tokens), labels)}));
}

}  // namespace

void show_question(const Subject& subject, Report& report) {
  report.paragraph(kQuestion);
  const GptConfig& config = subject.model->config();
  const bool trained = !subject.updates.empty();
  report.paragraph(trained ? kTrained : kGiven,
                   {std::to_string(config.n_layer), std::to_string(config.heads(0)),
                    std::to_string(config.n_embd)});
  if (trained) {
    show_birth(subject, report);
  }
}

void show_task(const Findings& findings, const Subject& subject, Report& report) {
  report.heading(kTask);
  const Repetition& repetition = findings.repetition;
  report.paragraph(kCopies,
                   {std::to_string(findings.sequences), with_range(repetition.first, report),
                    with_range(repetition.second, report)});
  report.paragraph(kPairs, {std::to_string(findings.pairs.size())});
  show_pair(findings.pairs.front(), subject, report);
  report.paragraph(
      kDifference,
      {signed_number(findings.clean_difference, 2), signed_number(findings.corrupt_difference, 2),
       std::to_string(findings.pairs_done), std::to_string(findings.pairs.size())});
  if (!findings.does_task()) {
    report.paragraph(kNoTask);
  }
}

void show_heads(const Findings& findings, const Subject& subject, Report& report) {
  report.heading(kHeads);
  report.paragraph(kHeadsText);
  Table table({{report.words(kHead), true},
               {report.words(kDoes), true},
               {report.words(kInduction)},
               {report.words(kPrevious)}});
  for (const HeadFinding* head : strongest(findings)) {
    const Verdict& verdict = head->scored.verdict;
    table.add({head_name(head->scored.head),
               std::string(verdict_label(verdict.name, report.language())) +
                   (verdict.settled ? "" : " ?"),
               with_range(head->scored.score("induction").value, report),
               with_range(head->scored.score("previous_token").value, report)});
  }
  report.table(table);
  if (!findings.has_induction) {
    report.paragraph(kNoInduction, {head_name(findings.receiver)});
  }
  show_maps(findings, subject, report);
}

void show_layers(const Findings& findings, Report& report) {
  report.heading(kLayers);
  report.paragraph(kLayersText);
  Table table({{report.words(kBehind), true}, {report.words(kProbability)}, {report.words(kRank)}});
  std::size_t largest = 1;
  const auto step = [&](std::size_t row) {
    return findings.lens[row].probability - findings.lens[row - 1].probability;
  };
  for (std::size_t row = 0; row < findings.lens.size(); ++row) {
    const LensFinding& lens = findings.lens[row];
    table.add({lens.place, fixed_number(lens.probability, 3), fixed_number(lens.rank, 1)});
    largest = row > 0 && step(row) > step(largest) ? row : largest;
  }
  report.table(table);
  report.paragraph(kStepLayer, {fixed_number(findings.lens[largest - 1].probability, 3),
                                fixed_number(findings.lens[largest].probability, 3),
                                std::to_string(largest - 1)});
}

}  // namespace headlight::cli::lab
