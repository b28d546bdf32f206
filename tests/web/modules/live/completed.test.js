import {completedTokens} from '../../../../src/show/page/live/completed.js';
import {knownTexts, predictionsAt} from '../../../../src/show/page/live/layers.js';
import {page} from '../../../../src/show/page/live/server.js';
import {wholeTokens} from '../../../../src/show/page/live/tokens.js';
import {equal, test} from '../harness.js';

// Runs `body` with a server that continues each prompt with the tokens that `write` returns for it.
// Returns the prompts of every request.
async function withModel(write, body) {
  const real = page.fetch;
  const asked = [];
  page.fetch = async (path, {body: text}) => {
    const {prompt} = JSON.parse(text);
    asked.push(prompt);
    const tokens = prompt.map(write);
    return tokens.includes(null) ? Response.json({error: {message: 'no room'}}, {status: 400})
      : Response.json({choices: tokens.map((names, index) => ({index, logprobs: {tokens: names}}))});
  };
  try {
    await body();
  } finally {
    page.fetch = real;
  }
  return asked;
}

const {signal} = new AbortController();
const cut = {before: [1, 2], id: 7, token: '<0xEA><0xB3>'};
const whole = {before: [1, 2], id: 8, token: 'a'};

test('a next token that cuts a character is completed by the model', async () => {
  const asked = await withModel(() => ['<0xA0>', 'b'], async () => {
    equal([...await completedTokens([whole, cut], 4, '', signal)], [[cut, '\uace0']]);
  });
  equal(asked, [[[1, 2, 7]]]);
});

test('equal tokens at one place are asked for once, and not more than the limit', async () => {
  const again = {...cut};
  const other = {...cut, before: [1]};
  const asked = await withModel(() => ['<0xA0>'], async () => {
    equal([...await completedTokens([cut, other, again], 1, '', signal)].map(([one]) => one), [cut, again]);
    equal((await completedTokens([whole], 4, '', signal)).size, 0);
  });
  equal(asked, [[[1, 2, 7]]]);
});

test('bytes stay where the model writes no character or has no room', async () => {
  await withModel(() => ['x'], async () => equal((await completedTokens([cut], 4, '', signal)).size, 0));
  await withModel(() => null, async () => equal((await completedTokens([cut], 4, '', signal)).size, 0));
});

test('an aborted request throws', async () => {
  let message = '';
  await withModel(() => null, () => completedTokens([cut], 4, '', AbortSignal.abort())
    .catch((error) => { ({message} = error); }));
  equal(message, 'no room');
});

test('predictions of the layers are at the ends of whole tokens, best first', () => {
  const prediction = (id) => ({id, token: `${id}`});
  const first = {readings: [[5], [3, 4], [9, 6]].map((top) => ({top: top.map(prediction)}))};
  const output = {readings: [[5], [9, 3], [6, 9]].map((top) => ({top: top.map(prediction)}))};
  const answer = {rows: [first, output], positions: [{id: 1, token: '<0xEA><0xB3>', target: {id: 2}},
    {id: 2, token: '<0xA0>', target: {id: 3}}, {id: 3, token: 'c', target: null}]};
  const wholes = wholeTokens(answer.positions.map(({token}) => token));
  equal(predictionsAt(answer, wholes).map(({before, id}) => [before.length, id]),
        [[2, 9], [2, 3], [3, 6], [3, 9], [2, 3], [2, 4], [3, 9], [3, 6]]);
  equal([...knownTexts(answer, wholes)], [[first.readings[1].top[0], 'c'], [output.readings[1].top[1], 'c']]);
});
