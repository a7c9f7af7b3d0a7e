// @ts-check
/** The picture of the chat: a question, answered by a small real model beside an open file. */

const file = {
  name: 'numbers.py',
  text: `"""Small helpers for numbers."""


def mean(values):
    return sum(values) / len(values)

█
`,
};
const question = 'How do I open a JSON file in Python?';

/** @param {import('../../test/e2e/session').Session} session */
export async function showChat(session) {
  const { ChatView } = await import('../../test/e2e/driver/chat_view');
  await session.workbench.closeEditors();
  await session.open(file.name, file.text);
  const chat = new ChatView(session.workbench);
  await chat.open();
  await chat.ask(question);
  await chat.answered(1, 60_000);
}
