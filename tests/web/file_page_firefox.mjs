// Tests a page of one file in headless Firefox, from the disk: writes, follows a text, switches a head off.
// usage: node file_page_firefox.mjs FIREFOX PAGE.html
import {startFirefox} from './marionette.mjs';

const [program, page] = process.argv.slice(2);
const firefox = await startFirefox(program);
const countOf = (selector) => `document.querySelectorAll('${selector}').length`;
let checks = 0;
let failures = 0;

async function expect(description, expression, value) {
  checks += 1;
  const found = await firefox.js(expression);
  if (found !== value) {
    failures += 1;
    console.log(`FAILED: ${description}\n  expected ${value}\n  got      ${found}`);
  }
}

async function open(query) {
  await firefox.load(`file://${page}?${query}`);
  await firefox.waitFor('document.documentElement.dataset.ready');
}

try {
  await open('text=The+cat');
  await firefox.js("document.getElementById('go').click()");
  await firefox.waitFor(`${countOf('.piece')} > 15 && document.getElementById('go').hidden === false`);
  await expect('there is no error', "document.getElementById('write-problem').textContent", '');
  await open('part=heads');
  await firefox.waitFor(`${countOf('.thumbnails button')} >= 4 && ${countOf('#next .likely')} === 10`);
  await firefox.js("document.querySelector('.cell[aria-label=\"head 0.1\"]').click()");
  await firefox.waitFor(`${countOf('.thumbnails')} === 2`);
  await expect('the loss changes', "/→/.test(document.getElementById('loss').textContent)", true);
  await open('part=pair&clean=the+red+cat+sat&corrupt=the+red+dog+sat&answer=c&wrong=d');
  await firefox.waitFor(`${countOf('#pair-grid td')} >= 4`);
  await expect('the page loads nothing from elsewhere',
               "performance.getEntriesByType('resource').filter(({name}) => !name.startsWith('blob:')).length", 0);
} catch (error) {
  failures += 1;
  console.log(`FAILED: ${error.message}`);
} finally {
  await firefox.stop();
}
console.log(`Firefox: ${checks} checks, ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
