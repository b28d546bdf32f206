// Korean texts of the views.

const kClosedDigits = '013678';  // their Korean names end in a consonant
const kClosedLetters = 'lmnrLMNR';

// Returns the particle for the last sound of `word`: `closed` after a consonant, `open` after a
// vowel, and both for a word whose sound is unknown.
export function particle(word, closed, open) {
  const last = word.replace(/[^\p{L}\p{N}]+$/u, '').slice(-1);
  if (/[가-힣]/.test(last)) {
    return (last.charCodeAt(0) - 0xAC00) % 28 > 0 ? closed : open;
  }
  if (/[0-9A-Za-z]/.test(last)) {
    return kClosedDigits.includes(last) || kClosedLetters.includes(last) ? closed : open;
  }
  return `${closed}(${open})`;
}

export const korean = {
  legend: '어텐션 가중치의 색, 0부터 1까지',
  legendValueWeighted: '가중치에 값 벡터의 크기를 곱한 값의 색, 0부터 1까지',
  scale: '색 눈금',
  linear: '선형',
  squareRoot: '제곱근',
  hideFirst: '첫 토큰 숨기기',
  hideFirstReason: '많은 헤드는 볼 곳이 마땅치 않으면 첫 토큰을 봅니다',
  firstHidden: '첫 토큰을 숨겼습니다.',
  firstHiddenRest: '행마다 나머지 가중치의 합이 1이 되도록 다시 정규화했습니다. 나머지의 합이 0.001보다 작은 ' +
    '행은 비워 둡니다.',
  views: '보기',
  modelView: '모델 보기',
  headView: '헤드 보기',
  neuronView: '뉴런 보기',
  gridView: '격자',
  document: '글',
  compareWith: '나란히',
  none: '없음',
  keysViews: '보기 바꾸기',
  keysHeads: '헤드 옮겨 가기',
  keysOpen: '열기',
  keysClose: '닫기',
  keysText: '글 안에서는 화살표로 토큰을 고릅니다.',
  precision16: '가중치는 1/65535 단위의 16비트 정수로 저장되어 있습니다. 행을 다시 정규화하지 않았다면 모델의 값과 ' +
    '0.00001 이내로 같습니다.',
  precision8: '페이지를 작게 하려고 가중치를 8비트 제곱근으로 저장했습니다. 행을 다시 정규화하지 않았다면 가중치 w의 ' +
    '오차는 √w/255 이내, 최대 0.004입니다.',

  headTitle: (layer, head) => `${layer}층 · 헤드 ${head}`,
  headName: (name) => `헤드 ${name}`,
  layerName: (layer) => `${layer}층`,
  headClass: (title, name, score) => `${title}, ${name}, 점수 ${score}`,
  headsOf: (text) => `${text}의 헤드, 행은 층`,
  counts: (heads, layers, cells, unit) => `${layers}개 층, 헤드 ${heads}개, ` +
    `${{word: '단어', char: '글자'}[unit] ?? '토큰'} ${cells}개의 어텐션`,
  tokensOf: (text) => `${text}의 토큰`,
  noHead: (name) => `이 글에 없는 헤드입니다: ${name}`,
  heatMap: (name) => `헤드 ${name}의 히트맵. 가장 강한 연결은 아래 표에 있습니다`,
  heatMapOnly: (name) => `헤드 ${name}의 히트맵`,
  openHead: (name) => `헤드 ${name} 열기`,
  query: '쿼리',
  key: '키',
  cell: (query, key, hidden) => `위치 ${query} → ${key}${hidden ? ', 첫 토큰 숨김' : ''}`,

  place: (place) => `(위치 ${place})`,
  gives: (label) => `${particle(label, '이', '가')} 보는 곳`,
  receives: (label) => `${particle(label, '을', '를')} 보는 곳`,
  givesNothing: (label) => `${particle(label, '이', '가')} 주는 가중치가 없습니다`,
  receivesNothing: (label) => `${particle(label, '이', '가')} 받는 가중치가 없습니다`,
  byHead: (gives, label, place) =>
    `${label}(위치 ${place})${gives ? particle(label, '이', '가') : particle(label, '을', '를')} 보는 곳, 헤드별`,
  byHeadColumns: ['헤드', '가장 강한 연결', '둘째', '셋째'],
  sumOverQueries: (sum) => `모든 쿼리에서 합계 ${sum}`,
  headAsTable: (name) => `헤드 ${name}: 표로 보기`,
  linksCaption: (name, limit) => `헤드 ${name}: ` +
    `${limit ? `가장 뚜렷한 쿼리 ${limit}개에서 ` : ''}가장 강한 키와 그 위치, 가중치`,
  linksColumns: ['쿼리', '가장 강한 키', '둘째', '셋째', '넷째', '다섯째'],
  announced: (text, head, token, label, direction, links) =>
    `${text ? `${text}, ` : ''}헤드 ${head}, 토큰 ${token} ${label}: ` +
    `${direction === 'gives' ? '보는 곳' : '보이는 곳'} ${links || '없음'}`,
  linkAt: (label, place, weight) => `위치 ${place}의 ${label}: ${weight}`,

  meanOverQueries: '쿼리 평균',
  previousToken: '앞 토큰',
  firstToken: '첫 토큰',
  itself: '자기 자신',
  entropy: '엔트로피',
  nats: ' nat',
  layer: '층',
  head: '헤드',
  weightGiven: '주는 가중치',
  weightReceived: '받는 가중치',
  linksOfToken: '고른 토큰의 연결',
  goToHead: '헤드로 가기',
  allHeads: ' 모든 헤드',

  modelHint: '히트맵의 행은 쿼리, 열은 키입니다. 헤드를 고르면 글과 나란히 볼 수 있습니다.',
  gridHint: '행은 쿼리, 열은 키입니다.',
  headHint: '왼쪽의 쿼리가 오른쪽의 키를 봅니다. 토큰을 가리키면 그 연결만 보이고, 누르면 그대로 ' +
    '남습니다. 다시 누르면 모두 보입니다.',
  neuronHint: '한 쿼리의 가중치가 생기는 과정입니다. 쿼리 벡터에 각 키 벡터를 곱해 더하고, 길이의 ' +
    '제곱근으로 나눈 뒤 소프트맥스를 거칩니다. 파랑은 0보다 큰 값, 주황은 0보다 작은 값입니다. 글에서 ' +
    '쿼리를 고르세요.',
  headsToDraw: '그릴 헤드',
  onlyThisHead: '두 번 누르면 이 헤드만',
  tokenAt: (place) => `토큰 ${place}`,
  queries: '쿼리',
  keys: '키',
  vectorOf: (kind, label) => ({query: `${label}의 쿼리`, key: `${label}의 키`,
                               product: `쿼리 × ${label}의 키`})[kind],
  numbers: (name, count) => `${name}, 숫자 ${count}개`,
  neuronColumns: (width) => ['키', '키 벡터', '쿼리 × 키', `합 ÷ √${width}`, '소프트맥스', ''],
  largestKeys: (shown, all) => `키 ${all}개 중 가중치가 가장 큰 ${shown}개. `,
  neuronError: '여기서 계산한 가중치와 기록된 가중치의 차이는 ',
  neuronErrorEnd: '입니다.',
  lessThan: (bound) => `${bound} 미만`,
  atMost: (bound) => `최대 ${bound}`,
  noVectors: '이 페이지에는 이 헤드의 쿼리와 키가 없습니다. “headlight attention --neurons”로 쓸 수 ' +
    '있습니다.',
};
