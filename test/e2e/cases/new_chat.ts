import { ChatView } from '../driver/chat_view';
import { until } from '../../until';
import type { Session } from '../session';

/** Chat with a fresh conversation, its input empty and focused. */
export async function newChat({ workbench }: Session): Promise<ChatView> {
  const chat = new ChatView(workbench);
  await chat.open();
  await workbench.runCommand('anllm: New Chat');
  await until('an empty chat', async () => (await chat.answers.count()) === 0);
  await chat.clear();
  await chat.hasFocus();
  return chat;
}
