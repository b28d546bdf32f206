// English texts of the views.
const several = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

export const english = {
  legend: 'Colour scale of the attention weight, from 0 to 1',
  legendValueWeighted: 'Colour scale of the attention weight times the norm of the value, from 0 to 1',
  scale: 'Colour scale',
  linear: 'Linear',
  squareRoot: 'Square root',
  hideFirst: 'Hide first token',
  hideFirstReason: 'Many heads attend to the first token when there is no better one',
  firstHidden: 'First token hidden.',
  firstHiddenRest: 'The other weights of each row are rescaled to sum to 1; rows whose other ' +
    'weights sum to less than 0.001 stay blank.',
  views: 'Views',
  modelView: 'Model view',
  headView: 'Head view',
  neuronView: 'Neuron view',
  gridView: 'Grid',
  document: 'Document',
  compareWith: 'Compare with',
  none: 'none',
  keysViews: 'switch views',
  keysHeads: 'move between heads',
  keysOpen: 'opens one',
  keysClose: 'closes it',
  keysText: 'In the text, the arrows choose a token.',
  precision16: 'Weights are stored as 16-bit integers, in steps of 1/65535: before any rescaling, ' +
    'a shown weight is within 0.00001 of the model’s.',
  precision8: 'To keep this page small, weights are stored as 8-bit square roots: before any ' +
    'rescaling, a shown weight w is within √w/255 of the model’s, 0.004 at most.',

  headTitle: (layer, head) => `Layer ${layer} · Head ${head}`,
  headName: (name) => `Head ${name}`,
  layerName: (layer) => `Layer ${layer}`,
  headClass: (title, name, score) => `${title}, ${name}, score ${score}`,
  headsOf: (text) => `Heads of ${text}, layers as rows`,
  counts: (heads, layers, cells, unit) => `Attention of ${several(heads, 'head')} in ` +
    `${several(layers, 'layer')} over ` +
    several(cells, {word: 'word', char: 'character'}[unit] ?? 'token'),
  tokensOf: (text) => `Tokens of ${text}`,
  noHead: (name) => `No head ${name} in this document.`,
  heatMap: (name) => `Heat map of head ${name}; the table below holds its strongest links`,
  heatMapOnly: (name) => `Heat map of head ${name}`,
  openHead: (name) => `Open head ${name}`,
  query: 'Query',
  key: 'Key',
  cell: (query, key, hidden) =>
    `position ${query} → ${key}${hidden ? ', first token hidden' : ''}`,

  place: (place) => ` ${place}`,
  gives: (label) => ` attends to`,
  receives: (label) => ` is attended to by`,
  givesNothing: (label) => ` gives no weight to show`,
  receivesNothing: (label) => ` receives no weight to show`,
  byHead: (gives, label, place) => gives ? `What ${label} at ${place} attends to, by head`
    : `What attends to ${label} at ${place}, by head`,
  byHeadColumns: ['Head', 'Strongest', 'Second', 'Third'],
  sumOverQueries: (sum) => `${sum} in sum over all queries`,
  headAsTable: (name) => `Head ${name} as a table`,
  linksCaption: (name, limit) => `Head ${name}: the strongest keys` +
    `${limit ? ` of the ${limit} most decided queries` : ''}, each with its position and weight`,
  linksColumns: ['Query', 'Strongest key', 'Second', 'Third', 'Fourth', 'Fifth'],
  announced: (text, head, token, label, direction, links) =>
    `${text ? `${text}, ` : ''}head ${head}, token ${token} ${label} ${direction} ` +
    `${links || 'nothing'}`,
  linkAt: (label, place, weight) => `${label} at ${place}: ${weight}`,

  meanOverQueries: 'Mean over the queries',
  previousToken: 'Previous token',
  firstToken: 'First token',
  itself: 'Itself',
  entropy: 'Entropy',
  nats: ' nats',
  layer: 'Layer',
  head: 'Head',
  weightGiven: 'Weight it gives',
  weightReceived: 'Weight it receives',
  linksOfToken: 'Links of the chosen token',
  goToHead: 'Go to a head',
  allHeads: ' All heads',

  modelHint: 'Rows of a map are queries, columns are keys. Choose a head to read it next to the ' +
    'text.',
  gridHint: 'Rows are queries, columns are keys.',
  headHint: 'Queries on the left attend to keys on the right. Point at a token to see its links ' +
    'alone; click to keep it, click again to see all.',
  neuronHint: 'How the weights of one query are computed: its vector times the vector of each key, ' +
    'summed, divided by the square root of their length, and put through the softmax. Blue is ' +
    'above 0, orange below. Choose the query in the text.',
  headsToDraw: 'Heads to draw',
  onlyThisHead: 'Double click: this head alone',
  tokenAt: (place) => `Token ${place}`,
  queries: 'Queries',
  keys: 'Keys',
  vectorOf: (kind, label) => ({query: `query of ${label}`, key: `key of ${label}`,
                               product: `query × key of ${label}`})[kind],
  numbers: (name, count) => `${name}, ${count} numbers`,
  neuronColumns: (width) =>
    ['Key', 'Key vector', 'Query × key', `Sum ÷ √${width}`, 'Softmax', ''],
  largestKeys: (shown, all) => `The ${shown} of ${all} keys with the largest weights. `,
  neuronError: 'The weights computed here differ from the recorded ones by ',
  neuronErrorEnd: '.',
  lessThan: (bound) => `less than ${bound}`,
  atMost: (bound) => `at most ${bound}`,
  noVectors: 'This page contains no queries and keys of this head: write them with “headlight attention ' +
    '--neurons”.',
};
