import {fittingMessages, keepMessages, keptMessages} from '../../../../src/show/page/live/conversation.js';
import {page} from '../../../../src/show/page/live/server.js';
import {session} from '../../../../src/show/page/live/session.js';
import {equal, test} from '../harness.js';

const kTurns = ['one', 'two', 'three'].map((word) => word.repeat(40)).flatMap((text) => [{role: 'user', content: text}, {role: 'assistant', content: `${text}!`}]);

// Runs body() with a model whose context holds `context` tokens, of which every message takes 100.
async function withModel(context, body) {
  const real = page.fetch;
  let questions = 0;
  page.fetch = async (path, {body: asked}) => {
    ++questions;
    return Response.json({input_tokens: 100 * JSON.parse(asked).messages.length});
  };
  [session.models, session.model] = [[{id: 'm', max_model_len: context}], 'm'];
  try {
    await body(() => questions);
  } finally {
    page.fetch = real;
    [session.models, session.model] = [[], ''];
  }
}

test('old turns are left out until the rest fits with room for the answer', async () => {
  await withModel(500, async () => {
    equal(await fittingMessages(kTurns, '', 50), kTurns.slice(2));   // 400 + 50
    equal(await fittingMessages(kTurns, '', 300), kTurns.slice(4));  // 200 + 125: a quarter of the context
  });
});

test('the last turn stays, and short conversations are not counted', async () => {
  await withModel(150, async () => {
    equal(await fittingMessages(kTurns.slice(4), '', 50), kTurns.slice(4));
  });
  await withModel(100_000, async (questions) => {
    equal(await fittingMessages(kTurns, 'Be kind.', 50), kTurns);
    equal(questions(), 0);
  });
});

test('a conversation is kept for its model alone', () => {
  session.model = 'm';
  keepMessages(kTurns);
  equal(keptMessages(), kTurns);
  session.model = 'other';
  equal(keptMessages(), []);
  session.model = '';
  sessionStorage.clear();
});
