import {classTag, documentName, headTitle, tokenName} from '../../../src/show/page/labels.js';
import {documents} from '../../../src/show/page/state.js';
import {equal, test} from './harness.js';
import {openSample, sampleData} from './sample.js';

test('a token is named by its label and its position', () => {
  openSample();
  const [label, blank, place] = tokenName(documents[0], 1);
  equal([label.textContent, blank, place.textContent], ['·cat', ' ', '1']);
  equal(label.translate, false);
});

test('the class of a head is a tag with its score; no score, no tag', () => {
  openSample();
  const tag = classTag(documents[0].byName.get('0.1'));
  equal([tag.title, tag.querySelector('.class').textContent, tag.querySelector('b').textContent],
        ['previous token: 0.75', 'previous token', '0.75']);
  equal(tag.querySelector('.dot').style.background !== '', true);
  equal([classTag(documents[0].byName.get('0.0')), classTag(null)], [null, null]);
  equal(headTitle(documents[0].byName.get('1.2')), 'Layer 1 · Head 2');
});

test('a document is named by its text on one line, shortened, without marks', () => {
  openSample();
  equal(documents.map(documentName), ['the cat sat down', 'a dog']);
  const long = {tokens: ['<|endoftext|>', 'x'.repeat(43), '\n\n', '🙂🙂']};
  equal(documentName(long), `${'x'.repeat(43)}…`);
  equal(documentName({tokens: ['🙂'.repeat(44)]}), '🙂'.repeat(44), 'characters are counted:');
  equal(documentName({tokens: ['<|endoftext|>', ' ']}), '∅');
});

test('the title is shown before the text if titles differ', () => {
  const data = sampleData();
  data.documents[1].title = 'other';
  openSample(data);
  equal(documents.map(documentName), ['toy: the cat sat down', 'other: a dog']);
});
