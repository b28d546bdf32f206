import {loadData} from '../../../src/views/page/data.js';
import {equal, test} from './harness.js';

// Replaces the page's data element. Other tests do not need it.
function hold(text) {
  document.getElementById('attention')?.remove();
  const holder = document.createElement('script');
  Object.assign(holder, {type: 'application/json', id: 'attention', textContent: text});
  document.body.append(holder);
  return holder;
}

test('data in the page is read and not kept twice', async () => {
  const holder = hold('{"bits": 16, "documents": ["\\u003cb>"]}');
  equal(await loadData(), {bits: 16, documents: ['<b>']});
  equal(holder.isConnected, false);
});
