// Texts of the page, in English and Korean.

export const kWords = {
  en: {
    model: 'Model', text: 'Text', write: 'Write', heads: 'Heads', layers: 'Layers', chat: 'Chat',
    pair: 'Two texts', train: 'Training', go: 'Continue', stop: 'Stop', clear: 'Clear',
    numbers: 'Probabilities', written: 'Generated text, token by token',
    written_with: 'Generated with:', written_plain: 'Generated without switches.', writes_with: 'Switches for generation:',
    keep: 'Use as text', copy: 'Copy as command', copied: 'Copied', link: 'Copy link', picture: 'Save picture',
    left_out: 'The first {count} messages no longer fit into the context; the model does not read them.',
    error_context_length_exceeded: 'The text is longer than the context of the model: shorten it.',
    error_queue_full: 'The server is busy: try again later.', error_model_not_found: 'The server has no model of this name.',
    system: 'System message', chat_changes: 'Switches', question: 'Message', send: 'Send', retry: 'Retry', undo: 'Undo',
    user: 'You', assistant: 'Model', token_count: 'tokens', cut: 'cut: raise Tokens',
    no_chat: 'This model has no chat template. Use Write, or open a model that was made for chats.',
    chat_hint: 'Enter sends, Shift+Enter begins a new line, Escape stops. Switches change the model from the next token on, even in ' +
      'the middle of an answer; those of the Heads tab count, too.',
    temperature: 'Temperature', top_k: 'Top k', top_p: 'Top p', min_p: 'Min p',
    repetition_penalty: 'Repetition penalty', max_tokens: 'Tokens', answer_tokens: 'Tokens', seed: 'Seed',
    write_hint: 'The number under each token is its probability in percent; darker tokens were less likely. Point at one, or ' +
      'move to it with Tab and the arrow keys, to see alternatives and what heads add to its logit; choose one to continue from there. Ctrl+Enter starts, Escape stops.',
    likely: 'Alternatives', adds: 'What heads and MLPs add to its logit', adds_map: 'Heads by layer, MLPs in the last column',
    first_token: 'There is nothing before the first token.', computing: 'computing …',
    tool: 'Click to set', off: 'off', mean: 'mean', scale: 'scale',
    freeze: 'freeze', release: 'Undo all', switches: 'Switches',
    switches_hint: 'The darker a head, the more the switches change its attention pattern.',
    classes: 'Classes of heads', finding: 'Classifying heads …', found: 'Found:',
    classed_on: 'Classes come from another text: {text}', class_this: 'Classify heads on this text',
    scored_on: 'Text for classifying heads', scored_hint: 'A longer text gives better evidence. Repeated random tokens are used as well.',
    all_of: 'all', next: 'Next token', loss_of_text: 'Loss {value} nats a token', before: 'original', after: 'changed', surprise: 'Loss by token',
    surprise_hint: 'Loss of each token in nats. With switches: blue where it is lower, orange where it is higher.',
    lens_hint: 'The prediction if the model ended after each layer: the most likely next token at ' +
      'each position. Darker means more probable; bold is the actual next token.',
    embed: 'embedding', behind: 'after layer {layer}', entropy: 'entropy', rank: 'rank',
    clean: 'First text', corrupt: 'Second text, with one difference', what: 'Patch',
    pair_hint: 'The second text is read with one part replaced by its value on the first text. 1: the model answers as on the first text, 0: ' +
      'nothing changes. The map needs texts with the same number of tokens; any token can be dragged onto any other.',
    carry_hint: 'Choose a cell of the map, or drag a token of the first text onto one of the second, to see what that part alone ' +
      'changes.',
    strips_hint: 'Drag a token of the first text onto one of the second, or choose one after the other.',
    strips_taken: '{token} is selected: choose a token of the second text. Escape cancels.',
    of_layer: 'of layer', of_head: 'of head', recovered: 'of the difference is recovered', of_clean: 'first text', of_corrupt: 'second',
    of_patched: 'patched', next_before: 'Next token of the second text', next_after: 'and patched',
    short_resid_post: 'stream after layer {layer}', short_mlp_out: 'MLP {layer}', short_attn_out: 'attention of layer {layer}',
    one_token: '{text} is {count} tokens: expected one.',
    part_head: 'each head', part_resid_post: 'the stream, by layer and token', part_mlp_out: 'each MLP, by token',
    part_attn_out: 'each attention layer, by token', part_position: 'each head, by token',
    answer: 'answer', against: 'against', whole: 'Difference of their logits: first text', second: 'second text',
    stronger: 'Share recovered by each part', runs: 'Runs', no_runs: 'Start the server with --runs FOLDER to watch ' +
      'training runs here.', value: 'Value', steps: '{count} steps', steps_each_second: '{speed} steps/s',
    learning_rate: 'learning rate', gradient_norm: 'gradient norm', speed: 'tokens/s', training_loss: 'loss',
    born: 'Emergence of heads', samples: 'Samples of the runs', key: 'Key of this server', login: 'Open', wrong_key: 'Wrong key.',
    wrong_number: '{name}: expected a number from {least} to {most}.',
    wrong_whole: '{name}: expected a whole number from {least} to {most}.',
    no_answer: 'The server does not answer. Check that headlight serve is running, then try again.',
    loading_model: 'Loading the model …',
    no_wasm: 'This browser is too old for this page. It needs Chrome or Edge 95, Firefox 113 or Safari 16.4, or newer.',
    no_memory: 'The model needs more memory than this browser gives. Close other pages, or use a computer with more memory.',
    no_model: 'The model does not load: {file} must be beside this page, complete, and written together with it.',
    needs_server: 'This page loads its model from {file}, which needs a web server: run "python3 -m http.server" in the folder ' +
      'of the page, then open http://localhost:8000/{page}',
    file_cut: 'This file is incomplete: its end is missing. Download or copy it again.',
    story_previous: 'Back', story_next: 'Next', story_leave: 'Explore the whole page', story_back: 'Presentation',
    no_server: 'The server does not answer: this page shows old data.',
    n_layer: 'Layers', n_head: 'Heads', n_embd: 'Width', block_size: 'Context', max_iters: 'Steps', validation: 'validation loss',
    train_text: 'Text to learn from', train_start: 'Start training', train_stop: 'Stop training', train_save: 'Download',
    train_explore: 'Explore its heads', training_begins: 'Learning the tokens …', trained: '{name} is trained: it answers in all tabs.',
    train_hint: 'A model of random weights learns to continue this text, here in your browser. Nothing leaves it.',
    too_long: 'The text is empty.', failed: 'Failed:',
    views: 'Views', parts: 'Parts of the page', layer: 'layer', head: 'head', token: 'token',
    linear: 'Linear', root: 'Square root', hide_first: 'Hide first token', first_hidden: 'First token hidden.',
    model_view: 'Model view', head_view: 'Head view', neuron_view: 'Neuron view', grid_view: 'Grid', document: 'Document',
    by: 'By', by_token: 'token', by_char: 'token, characters whole', by_word: 'word',
    beside: 'Compare with', none: 'none', colours: 'Colour scale of the attention weight, from 0 to 1',
  },
  ko: {
    model: '모델', text: '글', write: '쓰기', heads: '헤드', layers: '층', chat: '대화',
    pair: '두 글', train: '학습', go: '이어 쓰기', stop: '멈춤', clear: '지우기',
    numbers: '확률', written: '쓴 글, 토큰마다',
    written_with: '쓸 때의 스위치:', written_plain: '스위치 없이 쓴 글입니다.', writes_with: '글을 쓸 때의 스위치:',
    keep: '글로 사용', copy: '명령으로 복사', copied: '복사했습니다', link: '링크 복사', picture: '그림 저장',
    left_out: '앞의 메시지 {count}개는 컨텍스트에 더 들어가지 않아 모델이 읽지 않습니다.',
    error_context_length_exceeded: '글이 모델의 컨텍스트보다 깁니다. 줄여 주세요.',
    error_queue_full: '서버가 바쁩니다. 잠시 뒤에 다시 시도하세요.', error_model_not_found: '서버에 그런 이름의 모델이 없습니다.',
    system: '시스템 메시지', chat_changes: '스위치', question: '메시지', send: '보내기', retry: '다시', undo: '한 차례 지우기',
    user: '나', assistant: '모델', token_count: '토큰', cut: '토큰 수가 모자라 끊겼습니다',
    no_chat: '이 모델에는 채팅 템플릿이 없습니다. 쓰기를 이용하거나 대화용 모델을 여세요.',
    chat_hint: 'Enter로 보내고 Shift+Enter로 줄을 바꾸며 Esc로 멈춥니다. 스위치는 대답하는 중에도 바로 다음 토큰부터 적용되고, ' +
      '헤드 탭의 스위치도 함께 적용됩니다.',
    temperature: '온도', top_k: 'Top k', top_p: 'Top p', min_p: 'Min p',
    repetition_penalty: '반복 페널티', max_tokens: '토큰 수', answer_tokens: '토큰 수', seed: '시드',
    write_hint: '토큰 아래 숫자는 확률(%)이고, 뜻밖일수록 색이 진합니다. 토큰을 가리키거나 Tab과 화살표 키로 옮겨 가면 다른 후보와 ' +
      '헤드가 더한 값이 보이고, 다른 후보를 고르면 거기서부터 이어 씁니다. Ctrl+Enter로 쓰고 Esc로 멈춥니다.',
    likely: '다른 후보', adds: '헤드와 MLP가 로짓에 더한 값', adds_map: '층마다 헤드, 마지막 열은 MLP',
    first_token: '첫 토큰 앞에는 아무것도 없습니다.', computing: '계산 중 …',
    tool: '누르면', off: '끄기', mean: '평균으로', scale: '배율', freeze: '패턴 고정', release: '모두 되돌리기',
    switches: '스위치', switches_hint: '색이 진한 헤드일수록 스위치 때문에 패턴이 많이 달라졌습니다.',
    classes: '헤드의 종류', finding: '헤드가 하는 일을 살피는 중 …', found: '알아낸 종류:',
    classed_on: '헤드의 종류는 다른 글에서 알아낸 것입니다: {text}', class_this: '이 글에서 알아내기',
    scored_on: '종류를 알아볼 글', scored_hint: '글이 길수록 더 잘 드러납니다. 되풀이되는 무작위 토큰도 함께 봅니다.',
    all_of: '전체:', next: '다음 토큰', loss_of_text: '손실: 토큰당 {value} nat', before: '그대로', after: '바꾼 뒤', surprise: '토큰별 손실',
    surprise_hint: '토큰별 손실(nat). 스위치를 쓰면 손실이 줄어든 곳은 파랑, 늘어난 곳은 주황입니다.',
    lens_hint: '모델이 각 층에서 끝날 때 위치마다 가장 확률이 높은 다음 토큰입니다. 진할수록 확률이 높고, ' +
      '굵은 글씨는 실제로 이어지는 토큰입니다.',
    embed: '임베딩', behind: '{layer}층 뒤', entropy: '엔트로피', rank: '순위',
    clean: '첫째 글', corrupt: '둘째 글', what: '옮길 것',
    pair_hint: '둘째 글을 읽되 한 부분만 첫째 글에서의 값으로 바꿉니다. 1이면 첫째 글처럼 답하고 0이면 변화가 없습니다. ' +
      '지도를 그리려면 두 글의 토큰 수가 같아야 하고, 끌어 옮길 때는 어느 자리든 됩니다.',
    carry_hint: '지도의 칸을 고르거나 첫째 글의 토큰을 둘째 글의 토큰으로 끌면, 그 부분만 바꾸었을 때 달라지는 것이 보입니다.',
    strips_hint: '첫째 글의 토큰을 둘째 글의 토큰으로 끌거나 차례로 고르세요.',
    strips_taken: '{token}: 둘째 글의 토큰을 고르세요. Esc를 누르면 놓습니다.',
    of_layer: '층', of_head: '헤드', recovered: '만큼 차이를 되살렸습니다', of_clean: '첫째 글', of_corrupt: '둘째 글',
    of_patched: '바꾼 뒤', next_before: '둘째 글의 다음 토큰', next_after: '바꾼 뒤',
    short_resid_post: '{layer}층 뒤 스트림', short_mlp_out: '{layer}층 MLP', short_attn_out: '{layer}층 어텐션',
    one_token: '{text}: 토큰이 {count}개입니다. 하나여야 합니다.',
    part_head: '헤드마다', part_resid_post: '스트림: 층과 토큰', part_mlp_out: 'MLP: 토큰마다',
    part_attn_out: '어텐션 층: 토큰마다', part_position: '헤드: 토큰마다',
    answer: '답', against: '상대', whole: '로짓 차이: 첫째 글', second: '둘째 글',
    stronger: '부분마다 되살린 몫', runs: '학습', no_runs: '서버를 --runs 폴더로 시작하면 학습 과정을 여기서 볼 수 있습니다.',
    value: '값', steps: '업데이트 {count}번', steps_each_second: '초당 업데이트 {speed}번', learning_rate: '학습률', gradient_norm: '기울기 크기',
    speed: '토큰/초', training_loss: '손실', born: '헤드의 출현', samples: '학습하며 쓴 글', key: '이 서버의 인증 키', login: '열기',
    wrong_key: '인증 키가 맞지 않습니다.', wrong_number: '{name}: {least}에서 {most} 사이의 수여야 합니다.',
    wrong_whole: '{name}: {least}에서 {most} 사이의 정수여야 합니다.',
    no_answer: '서버가 대답하지 않습니다. headlight serve가 실행 중인지 확인한 뒤 다시 시도하세요.',
    loading_model: '모델을 불러오는 중 …',
    no_wasm: '브라우저가 오래되어 이 페이지를 열 수 없습니다. Chrome이나 Edge 95, Firefox 113, Safari 16.4 이상이 필요합니다.',
    no_memory: '모델에 필요한 메모리를 브라우저가 내주지 않습니다. 다른 페이지를 닫거나 메모리가 더 많은 컴퓨터를 쓰세요.',
    no_model: '모델을 불러오지 못했습니다. 이 페이지와 함께 만든 {file} 파일이 온전하게 같은 폴더에 있어야 합니다.',
    needs_server: '이 페이지는 {file}에서 모델을 불러오므로 웹 서버가 필요합니다. 페이지가 있는 폴더에서 "python3 -m http.server"를 ' +
      '실행한 뒤 http://localhost:8000/{page} 주소를 여세요.',
    file_cut: '파일의 끝이 없습니다. 다시 내려받거나 복사하세요.',
    story_previous: '이전', story_next: '다음', story_leave: '페이지 전체 보기', story_back: '발표로 돌아가기',
    no_server: '서버가 대답하지 않습니다. 여기 보이는 것은 예전 것입니다.',
    n_layer: '층', n_head: '헤드', n_embd: '차원', block_size: '문맥', max_iters: '업데이트', validation: '검증 손실',
    train_text: '배울 글', train_start: '학습 시작', train_stop: '학습 멈춤', train_save: '내려받기',
    train_explore: '헤드 살펴보기', training_begins: '토큰을 배우는 중 …', trained: '{name}: 학습을 마쳤습니다. 이제 모든 탭에서 대답합니다.',
    train_hint: '무작위 가중치에서 시작한 모델이 이 브라우저 안에서 이 글을 이어 쓰는 법을 배웁니다. 글은 브라우저 밖으로 나가지 않습니다.',
    too_long: '글이 비어 있습니다.', failed: '실패했습니다:',
    views: '보기', parts: '페이지의 부분', layer: '층', head: '헤드', token: '토큰',
    linear: '선형', root: '제곱근', hide_first: '첫 토큰 숨기기', first_hidden: '첫 토큰을 숨겼습니다.',
    model_view: '모델 보기', head_view: '헤드 보기', neuron_view: '뉴런 보기', grid_view: '격자', document: '글',
    by: '단위', by_token: '토큰', by_char: '토큰(글자는 온전하게)', by_word: '단어',
    beside: '나란히', none: '없음', colours: '어텐션 가중치의 색, 0부터 1까지',
  },
};

// Returns the language of an address, else that of the file, which may be the browser's.
export function languageOf(query, {lang, dataset}, browser) {
  const own = dataset.followsBrowser === undefined ? lang : browser;
  return (new URLSearchParams(query).get('lang') ?? own).startsWith('ko') ? 'ko' : 'en';
}

export const language = languageOf(location.search, document.documentElement, navigator.language);

export const say = (key) => kWords[language][key];

// Fills the elements that have data-say attributes.
export function fillWords(root) {
  document.documentElement.lang = language;
  for (const node of root.querySelectorAll('[data-say]')) {
    node.textContent = say(node.dataset.say);
  }
  for (const node of root.querySelectorAll('[data-say-label]')) {
    node.ariaLabel = say(node.dataset.sayLabel);
  }
}
