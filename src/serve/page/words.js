// What the page says, in English and Korean.

const kWords = {
  en: {
    model: 'Model', text: 'Text', write: 'Write', heads: 'Heads', layers: 'Layers',
    pair: 'Two texts', train: 'Training', go: 'Write on', stop: 'Stop', clear: 'Clear',
    keep: 'Make it the text', copy: 'Copy as command', copied: 'Copied', link: 'Copy link',
    temperature: 'Temperature', top_k: 'Top k', top_p: 'Top p', min_p: 'Min p',
    repetition_penalty: 'Repetition penalty', max_tokens: 'Tokens', seed: 'Seed',
    write_hint: 'Every token is as dark as it was unlikely. Point at one, or move to it by Tab, to see ' +
      'what else was likely and which heads spoke for it; choose another to go on from there.',
    likely: 'What was likely here', adds: 'What heads add to its logit', computing: 'computing …',
    tool: 'A click sets', off: 'off', mean: 'mean', scale: 'scale',
    freeze: 'freeze', release: 'Undo all', switches: 'Switches',
    switches_hint: 'The darker a head, the more its pattern changes by what is switched.',
    classes: 'Find classes', finding: 'looking at heads …', all_of: 'all', next: 'Next token', loss: 'Loss',
    nats: 'nats a token', before: 'as it is', after: 'changed', surprise: 'Loss by token',
    surprise_hint: 'Nats that each token costs; with switches: blue where it costs less, orange where more.',
    lens_hint: 'What the model would say if it ended behind each layer: the likeliest next token at ' +
      'each place. Darker is surer; bold is what the text goes on with.',
    embed: 'embedding', behind: 'behind layer', entropy: 'entropy', rank: 'rank',
    clean: 'A text', corrupt: 'The same with a difference', what: 'Carry over', patch_go: 'Patch',
    pair_hint: 'The second text is read with one part as it was on the first. 1: the model answers as ' +
      'on the first text, 0: nothing has changed. The texts need as many tokens.',
    part_head: 'each head', part_resid_post: 'the stream, by layer and token', part_mlp_out: 'each MLP, by token',
    part_attn_out: 'each attention layer, by token', part_position: 'each head, by token',
    answer: 'answer', against: 'against', whole: 'Difference of their logits: first text', second: 'second text',
    stronger: 'Recovered by each part', runs: 'Runs', no_runs: 'Start the server with --runs FOLDER to watch ' +
      'training runs here.', value: 'Value', updates: 'updates',
    learning_rate: 'learning rate', gradient_norm: 'gradient norm', speed: 'tokens/s', training_loss: 'loss',
    born: 'Heads being born', key: 'Key of this server', login: 'Open', wrong_key: 'This is not the key.',
    too_long: 'The text is empty.', failed: 'That did not work:',
    views: 'Views', parts: 'Parts of the page', layer: 'layer', head: 'head', token: 'token',
    linear: 'Linear', root: 'Square root', hide_first: 'Hide first token', first_hidden: 'First token hidden.',
    model_view: 'Model view', head_view: 'Head view', neuron_view: 'Neuron view', grid_view: 'Grid', document: 'Document',
    beside: 'Beside it', none: 'none', colours: 'Colour scale of the attention weight, from 0 to 1',
  },
  ko: {
    model: '모델', text: '글', write: '쓰기', heads: '헤드', layers: '층',
    pair: '두 글', train: '학습', go: '이어 쓰기', stop: '멈춤', clear: '지우기',
    keep: '이 글로 삼기', copy: '명령으로 복사', copied: '복사했습니다', link: '링크 복사',
    temperature: '온도', top_k: 'Top k', top_p: 'Top p', min_p: 'Min p',
    repetition_penalty: '반복 벌점', max_tokens: '토큰 수', seed: '시드',
    write_hint: '뜻밖인 토큰일수록 색이 진합니다. 토큰을 가리키거나 Tab으로 옮겨 가면 다른 후보와 그 토큰을 민 ' +
      '헤드가 보이고, 다른 후보를 고르면 거기서부터 이어 씁니다.',
    likely: '여기서 가능했던 토큰', adds: '헤드가 로짓에 더한 값', computing: '계산 중 …',
    tool: '누르면', off: '끄기', mean: '평균으로', scale: '배율', freeze: '패턴 고정', release: '모두 되돌리기',
    switches: '스위치', switches_hint: '색이 진한 헤드일수록 스위치 때문에 패턴이 많이 달라졌습니다.',
    classes: '종류 찾기', finding: '헤드를 살피는 중 …', all_of: '모든', next: '다음 토큰', loss: '손실',
    nats: '토큰당 nat', before: '그대로', after: '바꾼 뒤', surprise: '토큰별 손실',
    surprise_hint: '토큰마다 드는 nat 수. 스위치를 쓰면 줄어든 곳은 파랑, 늘어난 곳은 주황입니다.',
    lens_hint: '각 층에서 끝난다면 모델이 뭐라고 할지: 자리마다 가장 그럴듯한 다음 토큰입니다. 진할수록 확신이 크고, ' +
      '굵은 글씨는 실제로 이어지는 토큰입니다.',
    embed: '임베딩', behind: '층 뒤', entropy: '엔트로피', rank: '순위',
    clean: '글', corrupt: '한 곳만 다른 글', what: '옮길 것', patch_go: '패치',
    pair_hint: '둘째 글을 읽되 한 부분만 첫째 글에서의 값으로 바꿉니다. 1이면 첫째 글처럼 답하고 0이면 변화가 없습니다. ' +
      '두 글의 토큰 수가 같아야 합니다.',
    part_head: '헤드마다', part_resid_post: '스트림: 층과 토큰', part_mlp_out: 'MLP: 토큰마다',
    part_attn_out: '어텐션 층: 토큰마다', part_position: '헤드: 토큰마다',
    answer: '답', against: '상대', whole: '로짓 차이: 첫째 글', second: '둘째 글',
    stronger: '부분마다 되살린 몫', runs: '학습', no_runs: '서버를 --runs 폴더로 시작하면 학습 과정을 여기서 볼 수 있습니다.',
    value: '값', updates: '업데이트', learning_rate: '학습률', gradient_norm: '기울기 크기',
    speed: '토큰/초', training_loss: '손실', born: '태어나는 헤드', key: '이 서버의 열쇠', login: '열기',
    wrong_key: '열쇠가 아닙니다.', too_long: '글이 비어 있습니다.', failed: '실패했습니다:',
    views: '보기', parts: '페이지의 부분', layer: '층', head: '헤드', token: '토큰',
    linear: '선형', root: '제곱근', hide_first: '첫 토큰 숨기기', first_hidden: '첫 토큰을 숨겼습니다.',
    model_view: '모델 보기', head_view: '헤드 보기', neuron_view: '뉴런 보기', grid_view: '격자', document: '글',
    beside: '나란히', none: '없음', colours: '어텐션 가중치의 색, 0부터 1까지',
  },
};

export const language = new URLSearchParams(location.search).get('lang') === 'ko' ? 'ko' : 'en';

export const say = (key) => kWords[language][key];

// Fills the elements that name their words.
export function fillWords(root) {
  document.documentElement.lang = language;
  for (const node of root.querySelectorAll('[data-say]')) {
    node.textContent = say(node.dataset.say);
  }
  for (const node of root.querySelectorAll('[data-say-label]')) {
    node.ariaLabel = say(node.dataset.sayLabel);
  }
}
