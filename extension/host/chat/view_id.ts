/** As in package.json. */
export const CHAT_VIEW = 'anllm.chatView';
