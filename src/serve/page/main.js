// Lists the models that are served.
const answer = await fetch('/v1/models');
if (answer.ok) {
  const list = document.getElementById('models');
  for (const model of (await answer.json()).data) {
    const item = document.createElement('li');
    item.textContent = `${model.id}: ${model.max_model_len} tokens`;
    list.append(item);
  }
}
